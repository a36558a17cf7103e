"""A runtime's behaviour as plain data: no socket, no schema, no process, no clock of its own."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import attrs

from refimpl.cri.state.images import Images
from refimpl.cri.state.lifecycle import KILLED, TERMINATED, ContainerEvent, after, reason_of
from refimpl.cri.state.lookup import find, get, matching
from refimpl.cri.state.models import (
    Clock,
    Container,
    ContainerKey,
    ContainerState,
    Ids,
    Sandbox,
    SandboxKey,
    SandboxState,
    Wanted,
)
from refimpl.cri.state.rules import check_container, check_handler, check_sandbox
from refimpl.wire.status import Code, Refused

__all__ = ["RuntimeState"]


class RuntimeState:
    """Sandboxes, containers and images of one node. Each call is one step under the lock.

    `handlers` are the runtime handlers that RunPodSandbox may name; "" is the default one.
    """

    def __init__(self, *, clock: Clock, ids: Ids, handlers: Collection[str] = ("",)) -> None:
        self.lock = threading.RLock()
        self.images = Images(self.lock)
        self.handlers = tuple(handlers)
        self._clock, self._ids = clock, ids
        self._last = 0
        self._sandboxes: dict[str, Sandbox] = {}
        self._containers: dict[str, Container] = {}
        self._created: list[Container] = []
        self._addresses = itertools.count(2)

    # -- sandboxes ----------------------------------------------------------------------------

    def run_sandbox(
        self,
        key: SandboxKey,
        *,
        config: Any = None,
        labels: Mapping[str, str] | None = None,
        handler: str = "",
        host_network: bool = False,
    ) -> Sandbox:
        """A READY sandbox. INVALID_ARGUMENT for metadata or a handler that cannot be,
        FAILED_PRECONDITION for the metadata of a sandbox that is still there."""
        with self.lock:
            check_handler(handler, self.handlers)
            check_sandbox(key, self._sandboxes.values())
            address = "" if host_network else _address(next(self._addresses))
            sandbox = Sandbox(
                *(self._ids(), key, config, dict(labels or {}), handler, self.now(), address)
            )
            return self._sandboxes.setdefault(sandbox.id, sandbox)

    def stop_sandbox(self, sandbox_id: str) -> None:
        """NOTREADY, its containers killed; success where it is so or unknown already."""
        with self.lock:
            sandbox = find(self._sandboxes, sandbox_id, "sandbox")
            if sandbox is None:
                return
            for container in self._of(sandbox):
                self._end(container, "sandbox stop", KILLED)
            stopped = attrs.evolve(sandbox, state=SandboxState.NOTREADY, address="")
            self._sandboxes[sandbox.id] = stopped

    def remove_sandbox(self, sandbox_id: str) -> None:
        """Gone with its containers, in whatever state; success where it is unknown."""
        with self.lock:
            sandbox = find(self._sandboxes, sandbox_id, "sandbox")
            if sandbox is None:
                return
            for container in self._of(sandbox):
                del self._containers[container.id]
            del self._sandboxes[sandbox.id]

    def sandbox(self, sandbox_id: str) -> Sandbox:
        """NOT_FOUND if there is none."""
        with self.lock:
            return get(self._sandboxes, sandbox_id, "sandbox")

    def sandboxes(self, wanted: Wanted | None = None) -> list[Sandbox]:
        """Oldest first."""
        with self.lock:
            return matching(self._sandboxes.values(), wanted or Wanted())

    # -- containers ---------------------------------------------------------------------------

    def create(
        self,
        sandbox_id: str,
        key: ContainerKey,
        *,
        image: str,
        config: Any = None,
        labels: Mapping[str, str] | None = None,
        log_path: str = "",
        resources: Any = None,
    ) -> Container:
        """A CREATED container. NOT_FOUND for the sandbox; FAILED_PRECONDITION if that is stopped,
        and for the metadata of a container that is still there."""
        with self.lock:
            sandbox = get(self._sandboxes, sandbox_id, "sandbox")
            check_container(sandbox, key, self._of(sandbox))
            container = Container(
                *(self._ids(), sandbox.key, sandbox.id, key, config, dict(labels or {})),
                *(self.images.use(image), self.now(), log_path, resources),
            )
            self._created.append(container)
            return self._containers.setdefault(container.id, container)

    def start(self, container_id: str) -> None:
        """RUNNING. NOT_FOUND; FAILED_PRECONDITION if it was started before."""
        with self.lock:
            container = get(self._containers, container_id, "container")
            self._put(container, state=after(container, "start"), started_at=self.now())

    def stop(self, container_id: str, timeout_s: int = 0) -> None:
        """EXITED: our processes obey SIGTERM, and are killed at once where there is no time.

        Success where it is unknown or does not run.
        """
        with self.lock:
            container = find(self._containers, container_id, "container")
            if container is not None:
                self._end(container, "stop", TERMINATED if timeout_s > 0 else KILLED)

    def remove(self, container_id: str) -> None:
        """Gone, in whatever state; success where it is unknown."""
        with self.lock:
            container = find(self._containers, container_id, "container")
            if container is not None:
                del self._containers[container.id]

    def exit(self, container_id: str, exit_code: int = 0, reason: str = "") -> None:
        """Its process ends by itself. NOT_FOUND; FAILED_PRECONDITION if it does not run."""
        with self.lock:
            container = get(self._containers, container_id, "container")
            self._end(container, "exit", exit_code, reason)

    def update(self, container_id: str, change: Callable[[Any], Any]) -> None:
        """Other resources for a container. NOT_FOUND; FAILED_PRECONDITION once it has ended."""
        with self.lock:
            container = get(self._containers, container_id, "container")
            if container.state not in (ContainerState.CREATED, ContainerState.RUNNING):
                raise Refused(
                    Code.FAILED_PRECONDITION,
                    f"container {container.id} is {container.state.name}: resources can be"
                    " changed before it ends",
                )
            self._put(container, resources=change(container.resources))

    def container(self, container_id: str) -> Container:
        """NOT_FOUND if there is none."""
        with self.lock:
            return get(self._containers, container_id, "container")

    def containers(self, wanted: Wanted | None = None) -> list[Container]:
        """Oldest first."""
        with self.lock:
            return matching(self._containers.values(), wanted or Wanted())

    # -- the node -----------------------------------------------------------------------------

    def created(self) -> list[Container]:
        """Each container ever created, as it was then, oldest first."""
        with self.lock:
            return list(self._created)

    def reboot(self) -> None:
        """Nothing is there any more; only `created` remembers."""
        with self.lock:
            self._sandboxes.clear()
            self._containers.clear()

    def now(self) -> int:
        """Later than any moment before, whatever the clock does."""
        with self.lock:
            self._last = max(self._clock(), self._last + 1)
            return self._last

    # -- inside -------------------------------------------------------------------------------

    def _of(self, sandbox: Sandbox) -> list[Container]:
        return [each for each in self._containers.values() if each.sandbox_id == sandbox.id]

    def _end(
        self, container: Container, event: ContainerEvent, exit_code: int, reason: str = ""
    ) -> None:
        following = after(container, event)
        if following is container.state:
            return
        self._put(
            container,
            state=following,
            finished_at=self.now(),
            exit_code=exit_code,
            reason=reason or reason_of(exit_code),
        )

    def _put(self, container: Container, **changes: Any) -> None:
        self._containers[container.id] = attrs.evolve(container, **changes)


def _address(number: int) -> str:
    return f"10.88.{number >> 8 & 255}.{number & 255}"
