"""What all parts of the state share: the lock, time, ids, ports, and who hears of changes."""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import attrs

from refimpl.cri.state.ports import Clock, Ids, ImageSource, Logs, Network, Processes
from refimpl.cri.state.settings import RuntimeSettings
from refimpl.wire.status import Code, Refused

__all__ = ["ALWAYS", "Change", "Changed", "Core", "Ports"]


class Changed(enum.IntEnum):
    """Numbers of the schema (ContainerEventType)."""

    CREATED = 0
    STARTED = 1
    STOPPED = 2
    DELETED = 3


@attrs.frozen
class Change:
    """Something became of a sandbox (container_id is empty) or of a container in it."""

    what: Changed
    sandbox_id: str
    container_id: str
    at: int


@attrs.frozen(kw_only=True)
class Ports:
    """What the state calls. handlers: a process model for each runtime handler; "" is the default
    one. info: what a verbose Status says besides, by name."""

    clock: Clock
    ids: Ids
    handlers: Mapping[str, Processes]
    network: Network
    images: ImageSource
    logs: Logs
    info: Mapping[str, str] = attrs.field(factory=dict)


class Core:
    """The lock is held while tables change, and never while a port works."""

    def __init__(self, settings: RuntimeSettings, ports: Ports) -> None:
        self.settings, self.ports = settings, ports
        self.lock = threading.RLock()
        self._last = 0
        self._listeners: list[Callable[[Change], object]] = []

    def now(self) -> int:
        """Later than any moment before, whatever the clock does."""
        with self.lock:
            self._last = max(self.ports.clock.now(), self._last + 1)
            return self._last

    def processes(self, handler: str) -> Processes:
        """The process model of a handler; INVALID_ARGUMENT for one that the runtime has not."""
        if handler not in self.ports.handlers:
            raise Refused(
                Code.INVALID_ARGUMENT,
                f"runtime_handler {handler!r} is none of {list(self.ports.handlers)}: Status lists"
                " them",
            )
        return self.ports.handlers[handler]

    def listen(self, hear: Callable[[Change], object]) -> Callable[[], None]:
        """Tells of every change from now on, in order; until what is returned is called. It must
        not block."""
        with self.lock:
            self._listeners.append(hear)

        def leave() -> None:
            with self.lock:
                self._listeners.remove(hear)

        return leave

    def tell(self, what: Changed, sandbox_id: str, container_id: str = "") -> None:
        """Something has become of a sandbox or container."""
        with self.lock:
            change = Change(what, sandbox_id, container_id, self.now())
            for hear in self._listeners:
                hear(change)


class _Always:
    """A caller that waits for ever."""

    def waiting(self) -> AbstractContextManager[None]:
        """Nothing is to be done."""
        return contextlib.nullcontext()

    def cancelled(self) -> bool:
        """Never."""
        return False

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """It never comes to that."""


ALWAYS = _Always()
