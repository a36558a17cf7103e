"""Containers: create, start, stop, remove."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import attrs

from refimpl.cri.state.images import Images
from refimpl.cri.state.lifecycle import ContainerEvent, after, reason_of, sandbox_after
from refimpl.cri.state.lookup import find, get, matching
from refimpl.cri.state.models import (
    Container,
    ContainerKey,
    ContainerState,
    Image,
    NewContainer,
    Sandbox,
    Wanted,
)
from refimpl.cri.state.naming import Names, check_container_key
from refimpl.cri.state.ports import Caller, Exit, Processes, StartFailed
from refimpl.cri.state.sandboxes import Sandboxes
from refimpl.cri.state.tables import ALWAYS, Changed, Core
from refimpl.wire.status import Code, Refused

__all__ = ["KILL", "TERM", "VOLUME_FAILED", "Containers"]

VOLUME_FAILED = "ImageVolumeMountFailed"
"""With this word kubelet knows that it is the volume's fault (cri-api pkg/errors)."""

KILL, TERM = 9, 15
_UNKNOWN_EXIT = 255
"""What both runtimes report for an end that nobody saw."""


@attrs.define(eq=False)
class _Entry:
    """A container and, beside its record: whose turn it is to work on it, and who waits for its
    end."""

    container: Container
    turn: threading.RLock = attrs.field(factory=threading.RLock)
    waiting: list[Callable[[], object]] = attrs.field(factory=list)


class Containers:
    """Those of one node. One that is being made is not listed, and has its name already."""

    def __init__(self, core: Core, sandboxes: Sandboxes, images: Images) -> None:
        self._core, self._sandboxes, self._images = core, sandboxes, images
        sandboxes.occupants, images.used = self, self._uses
        self._table: dict[str, _Entry] = {}
        self._by_sandbox: dict[str, dict[str, _Entry]] = {}
        self._names: Names[tuple[str, ContainerKey]] = Names("container")
        self._created: list[Container] = []

    # -- what kubelet asks for ----------------------------------------------------------------

    def create(self, new: NewContainer) -> Container:
        """A CREATED container. NOT_FOUND for the sandbox or the image; FAILED_PRECONDITION if that
        sandbox is stopped, and for the metadata of a container that is still there."""
        sandbox = self._sandboxes.get(new.sandbox_id)
        if self._core.settings.containers.empty_name == "refused":
            check_container_key(new.key)
        sandbox_after(sandbox, "create")
        if existing := self._existing(sandbox, new.key):
            return existing
        self._check_handler(sandbox, new)
        image, name = self._images.use(new.image)
        volumes = {number: self._volume(each) for number, each in new.volumes.items()}
        id, key = self._core.ports.ids(), (sandbox.id, new.key)
        container = Container(
            *(id, sandbox.key, sandbox.id, sandbox.handler, new.key, new.config, dict(new.labels)),
            *(image, name, self._core.now(), new.log_path, new.resources),
            stop_signal=new.stop_signal or image.stop_signal or TERM,
            volumes=volumes,
        )
        with self._core.lock:
            self._names.reserve(key, id, attrs.asdict(new.key))
        try:
            self._processes(container).create(container)
        except BaseException:
            with self._core.lock:
                self._names.free(key, id)
            raise
        return self._keep(container)

    def start(self, container_id: str) -> None:
        """RUNNING. NOT_FOUND; FAILED_PRECONDITION if it was started before; UNKNOWN where its
        process cannot be started, and then it has EXITED."""
        entry = self._get(container_id)
        with entry.turn:
            container = self._current(entry)
            after(container, "start")
            sandbox_after(self._sandboxes.get(container.sandbox_id), "create")
            early: list[Exit] = []

            def ended(exit: Exit) -> None:
                with entry.turn:
                    if entry.container.state is ContainerState.CREATED:
                        early.append(exit)
                    elif entry.container.state is ContainerState.RUNNING:
                        self._end(entry, "exit", exit)

            try:
                output = self._core.ports.logs.open(container)
                pid = self._processes(container).start(container, output, ended)
            except StartFailed as error:
                self._start_failed(entry, error)
                raise Refused(Code.UNKNOWN, error.message) from None
            with self._core.lock:
                self._put(entry, state=after(container, "start"), pid=pid)
                self._put(entry, started_at=self._core.now())
                self._core.tell(Changed.STARTED, container.sandbox_id, container.id)
            for exit in early:
                self._end(entry, "exit", exit)

    def stop(self, container_id: str, timeout_s: float = 0, caller: Caller = ALWAYS) -> None:
        """EXITED: its stop signal, then SIGKILL where it has not ended in time, or where there is
        none. Success where it is unknown or does not run; nothing more where the caller is gone."""
        with self._core.lock:
            entry = find(self._table, container_id, "container")
        if entry is None:
            return
        after(entry.container, "stop")
        if entry.container.state is ContainerState.UNKNOWN:
            self._end(entry, "stop", Exit(_UNKNOWN_EXIT, "Unknown"))
        if entry.container.state is not ContainerState.RUNNING:
            return
        if timeout_s > 0:
            self._ask(entry, entry.container.stop_signal, timeout_s, caller)
        if entry.container.state is ContainerState.RUNNING and not caller.cancelled():
            self._ask(entry, KILL, None, caller)

    def remove(self, container_id: str) -> None:
        """Gone, killed where it runs; success where it is unknown."""
        with self._core.lock:
            entry = find(self._table, container_id, "container")
        if entry is not None:
            self._remove(entry)

    def update(self, container_id: str, change: Callable[[Any], Any]) -> None:
        """Other resources for a container. NOT_FOUND; FAILED_PRECONDITION once it has ended."""
        entry = self._get(container_id)
        with entry.turn:
            container = self._current(entry)
            ended = container.state is ContainerState.EXITED
            if not (ended and self._core.settings.containers.update_exited == "stored"):
                after(container, "update")
            resources = change(container.resources)
            if not ended:
                self._processes(container).update(container, resources)
            self._put(entry, resources=resources)

    def reopen_log(self, container_id: str) -> None:
        """After a rotation. NOT_FOUND; FAILED_PRECONDITION if it does not run."""
        container = self.running(container_id, "has an open log")
        self._core.ports.logs.reopen(container)

    # -- what there is ------------------------------------------------------------------------

    def get(self, container_id: str) -> Container:
        """NOT_FOUND if there is none."""
        return self._get(container_id).container

    def running(self, container_id: str, why: str) -> Container:
        """As `get`; FAILED_PRECONDITION unless it runs: only one that does `why`."""
        container = self.get(container_id)
        if container.state is not ContainerState.RUNNING:
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"container {container.id} is {container.state.name}: only a running one {why}",
            )
        return container

    def select(self, wanted: Wanted | None = None) -> list[Container]:
        """Oldest first. What is in one sandbox is found without a look at all others."""
        wanted = wanted or Wanted()
        with self._core.lock:
            table = self._by_sandbox.get(wanted.sandbox_id, self._table)
            return matching({id: entry.container for id, entry in table.items()}, wanted)

    def created(self) -> list[Container]:
        """Each container ever created, as it was then, oldest first."""
        with self._core.lock:
            return [*self._created]

    # -- what happens by itself ---------------------------------------------------------------

    def exit(self, container_id: str, exit_code: int = 0, reason: str = "") -> None:
        """Its process ends by itself. NOT_FOUND; FAILED_PRECONDITION if it does not run."""
        entry = self._get(container_id)
        with entry.turn:
            after(entry.container, "exit")
            self._end(entry, "exit", Exit(exit_code, reason))
            self._processes(entry.container).signal(entry.container, KILL)

    def end_all(self, sandbox: Sandbox) -> None:
        """Kills those of a sandbox; also one that was created cannot run any more."""
        for entry in self._of(sandbox):
            self.stop(entry.container.id)
            with entry.turn:
                self._end(entry, "sandbox stop", Exit(128 + KILL))

    def remove_all(self, sandbox: Sandbox) -> None:
        """Removes those of a sandbox."""
        for entry in self._of(sandbox):
            self._remove(entry)
        with self._core.lock:
            self._by_sandbox.pop(sandbox.id, None)

    def clear(self) -> None:
        """As after a reboot: none is there any more; only `created` remembers."""
        with self._core.lock:
            gone = [entry.container for entry in self._table.values()]
            self._table.clear()
            self._by_sandbox.clear()
            self._names.clear()
        for container in gone:
            self._processes(container).remove(container)
            self._core.ports.logs.close(container)

    # -- inside -------------------------------------------------------------------------------

    def _uses(self, image_id: str) -> bool:
        with self._core.lock:
            return any(entry.container.image.id == image_id for entry in self._table.values())

    def _processes(self, container: Container) -> Processes:
        return self._core.processes(container.handler)

    def _get(self, container_id: str) -> _Entry:
        with self._core.lock:
            return get(self._table, container_id, "container")

    def _current(self, entry: _Entry) -> Container:
        """The record, once it is our turn; NOT_FOUND where it has been removed meanwhile."""
        return self.get(entry.container.id)

    def _of(self, sandbox: Sandbox) -> list[_Entry]:
        with self._core.lock:
            return [*self._by_sandbox.get(sandbox.id, {}).values()]

    def _check_handler(self, sandbox: Sandbox, new: NewContainer) -> None:
        features = self._core.ports.handlers[sandbox.handler].features
        for feature, words in new.needs.items():
            if not features.get(feature):
                raise Refused(
                    Code.UNKNOWN, f"{words}: handler {sandbox.handler!r} has not got {feature}"
                )

    def _volume(self, name: str) -> Image:
        try:
            return self._images.use(name)[0]
        except Refused as refusal:
            raise Refused(refusal.code, f"{VOLUME_FAILED}: {refusal.message}") from None

    def _existing(self, sandbox: Sandbox, key: ContainerKey) -> Container | None:
        if self._core.settings.containers.duplicate == "refused":
            return None
        with self._core.lock:
            owner = self._names.owner((sandbox.id, key))
            entry = self._table.get(owner) if owner else None
            return entry.container if entry else None

    def _keep(self, container: Container) -> Container:
        with self._core.lock:
            entry = self._table[container.id] = _Entry(container)
            self._by_sandbox.setdefault(container.sandbox_id, {})[container.id] = entry
            self._created.append(container)
            self._core.tell(Changed.CREATED, container.sandbox_id, container.id)
        return container

    def _start_failed(self, entry: _Entry, error: StartFailed) -> None:
        if self._core.settings.containers.failed_start == "removed":
            self._remove(entry)
            return
        self._end(entry, "start failure", Exit(error.code, "StartError", error.message))

    def _ask(self, entry: _Entry, number: int, limit_s: float | None, caller: Caller) -> None:
        """Sends a signal, and waits for the end, the limit, or until the caller is gone."""
        woken = threading.Event()
        with self._core.lock:
            if entry.container.state is not ContainerState.RUNNING:
                return
            entry.waiting.append(woken.set)
        self._processes(entry.container).signal(entry.container, number)
        if woken.is_set():
            return
        clock = self._core.ports.clock
        forget = clock.call_later(limit_s, woken.set) if limit_s is not None else None
        caller.on_cancel(woken.set)
        with caller.waiting():
            woken.wait()
        if forget:
            forget()

    def _end(self, entry: _Entry, event: ContainerEvent, exit: Exit) -> None:
        with self._core.lock:
            container = entry.container
            following = after(container, event)
            if following is container.state:
                return
            self._put(
                entry,
                state=following,
                finished_at=self._core.now(),
                pid=0,
                exit_code=exit.code,
                reason=exit.reason or reason_of(exit.code),
                message=exit.message,
            )
            waiting, entry.waiting = entry.waiting, []
            if container.id in self._table:
                self._core.tell(Changed.STOPPED, container.sandbox_id, container.id)
        self._core.ports.logs.close(container)
        for wake in waiting:
            wake()

    def _remove(self, entry: _Entry) -> None:
        container = entry.container
        self.stop(container.id)
        with entry.turn:
            self._processes(container).remove(container)
            with self._core.lock:
                if self._table.pop(container.id, None):
                    self._by_sandbox[container.sandbox_id].pop(container.id)
                    self._names.free((container.sandbox_id, container.key), container.id)
                    self._core.tell(Changed.DELETED, container.sandbox_id, container.id)

    def _put(self, entry: _Entry, **changes: Any) -> None:
        with self._core.lock:
            entry.container = attrs.evolve(entry.container, **changes)
