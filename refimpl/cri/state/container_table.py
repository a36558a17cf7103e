"""The containers that there are: by id, by sandbox and by name, and how each ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import attrs

from refimpl.cri.state.lifecycle import ContainerEvent, after, reason_of
from refimpl.cri.state.lookup import find, get, matching
from refimpl.cri.state.models import Container, ContainerKey, ContainerState, Sandbox, Wanted
from refimpl.cri.state.naming import Names
from refimpl.cri.state.ports import Caller, Exit
from refimpl.cri.state.tables import Changed, Core

__all__ = ["ContainerTable", "Entry"]


@attrs.define(eq=False)
class Entry:
    """A container and, beside its record: whose turn it is to work on it, and who waits for its
    end."""

    container: Container
    turn: threading.RLock = attrs.field(factory=threading.RLock)
    waiting: list[Callable[[], object]] = attrs.field(factory=list)


class ContainerTable:
    """Those of one node. One that is being made is not listed, and has its name already."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._table: dict[str, Entry] = {}
        self._by_sandbox: dict[str, dict[str, Entry]] = {}
        self._names: Names[tuple[str, ContainerKey]] = Names("container")
        self._created: list[Container] = []

    # -- looking ------------------------------------------------------------------------------

    def find(self, container_id: str) -> Entry | None:
        """None if there is none."""
        with self._core.lock:
            return find(self._table, container_id, "container")

    def get(self, container_id: str) -> Entry:
        """NOT_FOUND if there is none."""
        with self._core.lock:
            return get(self._table, container_id, "container")

    def of(self, sandbox: Sandbox) -> list[Entry]:
        """Those of a sandbox."""
        with self._core.lock:
            return [*self._by_sandbox.get(sandbox.id, {}).values()]

    def select(self, wanted: Wanted) -> list[Container]:
        """Oldest first. What is in one sandbox is found without a look at all others."""
        with self._core.lock:
            table = self._by_sandbox.get(wanted.sandbox_id, self._table)
            return matching({id: entry.container for id, entry in table.items()}, wanted)

    def named(self, sandbox: Sandbox, key: ContainerKey) -> Container | None:
        """The one of a sandbox that has this name."""
        with self._core.lock:
            owner = self._names.owner((sandbox.id, key))
            entry = self._table.get(owner) if owner else None
            return entry.container if entry else None

    def uses(self, image_id: str) -> bool:
        """Whether one was made of that image."""
        with self._core.lock:
            return any(entry.container.image.id == image_id for entry in self._table.values())

    def created(self) -> list[Container]:
        """Each container ever created, as it was then, oldest first."""
        with self._core.lock:
            return [*self._created]

    # -- changing -----------------------------------------------------------------------------

    def reserve(self, container: Container) -> None:
        """Its name is taken; FAILED_PRECONDITION where another has it."""
        with self._core.lock:
            self._names.reserve(_name(container), container.id, attrs.asdict(container.key))

    def free(self, container: Container) -> None:
        """Its name is free, as it never came to be."""
        with self._core.lock:
            self._names.free(_name(container), container.id)

    def keep(self, container: Container) -> Container:
        """It has been made."""
        with self._core.lock:
            entry = self._table[container.id] = Entry(container)
            self._by_sandbox.setdefault(container.sandbox_id, {})[container.id] = entry
            self._created.append(container)
            self._core.tell(Changed.CREATED, container.sandbox_id, container.id)
        return container

    def put(self, entry: Entry, **changes: Any) -> None:
        """Its record changes."""
        with self._core.lock:
            entry.container = attrs.evolve(entry.container, **changes)

    def drop(self, container: Container) -> None:
        """It has been removed, and its name is free."""
        with self._core.lock:
            if self._table.pop(container.id, None):
                self._by_sandbox[container.sandbox_id].pop(container.id)
                self.free(container)
                self._core.tell(Changed.DELETED, container.sandbox_id, container.id)

    def forget(self, sandbox: Sandbox) -> None:
        """Nothing is in that sandbox any more."""
        with self._core.lock:
            self._by_sandbox.pop(sandbox.id, None)

    def clear(self) -> list[Container]:
        """None is there any more; those that were. `created` remembers."""
        with self._core.lock:
            gone = [entry.container for entry in self._table.values()]
            self._table.clear()
            self._by_sandbox.clear()
            self._names.clear()
        return gone

    # -- ending -------------------------------------------------------------------------------

    def ask(self, entry: Entry, number: int, limit_s: float | None, caller: Caller) -> None:
        """Sends a signal, and waits for the end, the limit, or until the caller is gone."""
        woken = threading.Event()
        with self._core.lock:
            if entry.container.state is not ContainerState.RUNNING:
                return
            entry.waiting.append(woken.set)
        self._core.processes(entry.container.handler).signal(entry.container, number)
        if woken.is_set():
            return
        clock = self._core.ports.clock
        forget = clock.call_later(limit_s, woken.set) if limit_s is not None else None
        caller.on_cancel(woken.set)
        with caller.waiting():
            woken.wait()
        if forget:
            forget()

    def end(self, entry: Entry, event: ContainerEvent, exit: Exit) -> None:
        """It has ended, and who waits for that is woken; nothing where it had before."""
        with self._core.lock:
            container = entry.container
            following = after(container, event)
            if following is container.state:
                return
            self.put(
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


def _name(container: Container) -> tuple[str, ContainerKey]:
    return container.sandbox_id, container.key
