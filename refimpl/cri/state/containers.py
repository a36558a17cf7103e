"""Containers: create, start, stop, remove."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.cri.state.container_table import ContainerTable, Entry
from refimpl.cri.state.images import Images
from refimpl.cri.state.lifecycle import after, sandbox_after
from refimpl.cri.state.models import (
    Container,
    ContainerKey,
    ContainerState,
    Image,
    NewContainer,
    Sandbox,
    Wanted,
)
from refimpl.cri.state.naming import check_container_key
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


class Containers:
    """Those of one node. One that is being made is not listed, and has its name already."""

    def __init__(self, core: Core, sandboxes: Sandboxes, images: Images) -> None:
        self._core, self._sandboxes, self._images = core, sandboxes, images
        self._table = ContainerTable(core)
        sandboxes.occupants, images.used = self, self._table.uses

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
        id, labels = self._core.ports.ids(), dict(new.labels)
        container = Container(
            *(id, sandbox.key, sandbox.id, sandbox.handler, new.key, new.config, labels),
            *(image, name, self._core.now(), new.log_path, new.resources),
            stop_signal=new.stop_signal or image.stop_signal or TERM,
            volumes=volumes,
        )
        self._table.reserve(container)
        try:
            self._processes(container).create(container)
        except BaseException:
            self._table.free(container)
            raise
        return self._table.keep(container)

    def start(self, container_id: str) -> None:
        """RUNNING. NOT_FOUND; FAILED_PRECONDITION if it was started before; UNKNOWN where its
        process cannot be started, and then it has EXITED."""
        entry = self._table.get(container_id)
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
                        self._table.end(entry, "exit", exit)

            try:
                output = self._core.ports.logs.open(container)
                pid = self._processes(container).start(container, output, ended)
            except StartFailed as error:
                self._start_failed(entry, error)
                raise Refused(Code.UNKNOWN, error.message) from None
            with self._core.lock:
                self._table.put(entry, state=after(container, "start"), pid=pid)
                self._table.put(entry, started_at=self._core.now())
                self._core.tell(Changed.STARTED, container.sandbox_id, container.id)
            for exit in early:
                self._table.end(entry, "exit", exit)

    def stop(self, container_id: str, timeout_s: float = 0, caller: Caller = ALWAYS) -> None:
        """EXITED: its stop signal, then SIGKILL where it has not ended in time, or where there is
        none. Success where it is unknown or does not run; nothing more where the caller is gone."""
        entry = self._table.find(container_id)
        if entry is None:
            return
        after(entry.container, "stop")
        if entry.container.state is ContainerState.UNKNOWN:
            self._table.end(entry, "stop", Exit(_UNKNOWN_EXIT, "Unknown"))
        if entry.container.state is not ContainerState.RUNNING:
            return
        if timeout_s > 0:
            self._table.ask(entry, entry.container.stop_signal, timeout_s, caller)
        if entry.container.state is ContainerState.RUNNING and not caller.cancelled():
            self._table.ask(entry, KILL, None, caller)

    def remove(self, container_id: str) -> None:
        """Gone, killed where it runs; success where it is unknown."""
        entry = self._table.find(container_id)
        if entry is not None:
            self._remove(entry)

    def update(self, container_id: str, change: Callable[[Any], Any]) -> None:
        """Other resources for a container. NOT_FOUND; FAILED_PRECONDITION once it has ended."""
        entry = self._table.get(container_id)
        with entry.turn:
            container = self._current(entry)
            ended = container.state is ContainerState.EXITED
            if not (ended and self._core.settings.containers.update_exited == "stored"):
                after(container, "update")
            resources = change(container.resources)
            if not ended:
                self._processes(container).update(container, resources)
            self._table.put(entry, resources=resources)

    def reopen_log(self, container_id: str) -> None:
        """After a rotation. NOT_FOUND; FAILED_PRECONDITION if it does not run."""
        container = self.running(container_id, "has an open log")
        self._core.ports.logs.reopen(container)

    # -- what there is ------------------------------------------------------------------------

    def get(self, container_id: str) -> Container:
        """NOT_FOUND if there is none."""
        return self._table.get(container_id).container

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
        return self._table.select(wanted or Wanted())

    def created(self) -> list[Container]:
        """Each container ever created, as it was then, oldest first."""
        return self._table.created()

    # -- what happens by itself ---------------------------------------------------------------

    def exit(self, container_id: str, exit_code: int = 0, reason: str = "") -> None:
        """Its process ends by itself. NOT_FOUND; FAILED_PRECONDITION if it does not run."""
        entry = self._table.get(container_id)
        with entry.turn:
            after(entry.container, "exit")
            self._table.end(entry, "exit", Exit(exit_code, reason))
            self._processes(entry.container).signal(entry.container, KILL)

    def end_all(self, sandbox: Sandbox) -> None:
        """Kills those of a sandbox; also one that was created cannot run any more."""
        for entry in self._table.of(sandbox):
            self.stop(entry.container.id)
            with entry.turn:
                self._table.end(entry, "sandbox stop", Exit(128 + KILL))

    def remove_all(self, sandbox: Sandbox) -> None:
        """Removes those of a sandbox."""
        for entry in self._table.of(sandbox):
            self._remove(entry)
        self._table.forget(sandbox)

    def clear(self) -> None:
        """As after a reboot: none is there any more; only `created` remembers."""
        for container in self._table.clear():
            self._processes(container).remove(container)
            self._core.ports.logs.close(container)

    # -- inside -------------------------------------------------------------------------------

    def _processes(self, container: Container) -> Processes:
        return self._core.processes(container.handler)

    def _current(self, entry: Entry) -> Container:
        """The record, once it is our turn; NOT_FOUND where it has been removed meanwhile."""
        return self.get(entry.container.id)

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
        return self._table.named(sandbox, key)

    def _start_failed(self, entry: Entry, error: StartFailed) -> None:
        if self._core.settings.containers.failed_start == "removed":
            self._remove(entry)
            return
        self._table.end(entry, "start failure", Exit(error.code, "StartError", error.message))

    def _remove(self, entry: Entry) -> None:
        container = entry.container
        self.stop(container.id)
        with entry.turn:
            self._processes(container).remove(container)
            self._table.drop(container)
