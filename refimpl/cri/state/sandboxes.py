"""Sandboxes: run, stop, remove."""

from __future__ import annotations

from typing import Protocol

import attrs

from refimpl.cri.state.lifecycle import SandboxEvent, sandbox_after
from refimpl.cri.state.lookup import find, get, matching
from refimpl.cri.state.models import NewSandbox, Sandbox, SandboxKey, SandboxState, Wanted
from refimpl.cri.state.naming import Names, check_sandbox_key
from refimpl.cri.state.ports import Exit
from refimpl.cri.state.tables import Changed, Core
from refimpl.wire.status import Refused

__all__ = ["Occupants", "Sandboxes"]


class Occupants(Protocol):
    """What is in sandboxes."""

    def end_all(self, sandbox: Sandbox) -> None:
        """Kills those of a sandbox."""

    def remove_all(self, sandbox: Sandbox) -> None:
        """Removes those of a sandbox."""


class Sandboxes:
    """Those of one node. One that is being made is not listed, and has its name already."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._table: dict[str, Sandbox] = {}
        self._names: Names[SandboxKey] = Names("sandbox")
        self.occupants: Occupants

    # -- what kubelet asks for ----------------------------------------------------------------

    def run(self, new: NewSandbox) -> Sandbox:
        """A READY sandbox. INVALID_ARGUMENT for metadata or a handler that cannot be,
        FAILED_PRECONDITION for the metadata of a sandbox that is still there; what its processes
        and its network refuse, and then nothing is left of it."""
        self._core.processes(new.handler)
        if self._core.settings.sandboxes.empty_names == "refused":
            check_sandbox_key(new.key)
        if existing := self._existing(new.key):
            return existing
        id = self._core.ports.ids()
        with self._core.lock:
            self._names.reserve(new.key, id, attrs.asdict(new.key))
        try:
            return self._made(id, new)
        except BaseException:
            with self._core.lock:
                self._names.free(new.key, id)
            raise

    def stop(self, sandbox_id: str) -> None:
        """NOTREADY, its containers killed; success where it is so or unknown already."""
        sandbox = self.find(sandbox_id)
        if sandbox is None:
            return
        self.occupants.end_all(sandbox)
        self._core.processes(sandbox.handler).stop_sandbox(sandbox)
        if not sandbox.host_network:
            self._core.ports.network.detach(sandbox)
        self._become(sandbox.id, "stop")

    def remove(self, sandbox_id: str) -> None:
        """Gone with its containers, in whatever state; success where it is unknown."""
        sandbox = self.find(sandbox_id)
        if sandbox is None:
            return
        if sandbox.state is SandboxState.READY:
            self.stop(sandbox.id)
        self.occupants.remove_all(sandbox)
        self._core.processes(sandbox.handler).remove_sandbox(sandbox)
        with self._core.lock:
            if self._table.pop(sandbox.id, None):
                self._names.free(sandbox.key, sandbox.id)
                self._core.tell(Changed.DELETED, sandbox.id)

    # -- what there is ------------------------------------------------------------------------

    def find(self, sandbox_id: str) -> Sandbox | None:
        """By id or the beginning of one; None if there is none."""
        with self._core.lock:
            return find(self._table, sandbox_id, "sandbox")

    def get(self, sandbox_id: str) -> Sandbox:
        """NOT_FOUND if there is none."""
        with self._core.lock:
            return get(self._table, sandbox_id, "sandbox")

    def select(self, wanted: Wanted | None = None) -> list[Sandbox]:
        """Oldest first."""
        with self._core.lock:
            return matching(self._table, wanted or Wanted())

    def clear(self) -> None:
        """As after a reboot: none is there any more."""
        with self._core.lock:
            self._table.clear()
            self._names.clear()

    # -- inside -------------------------------------------------------------------------------

    def _existing(self, key: SandboxKey) -> Sandbox | None:
        if self._core.settings.sandboxes.duplicate == "refused":
            return None
        with self._core.lock:
            owner = self._names.owner(key)
            return self._table.get(owner) if owner else None

    def _made(self, id: str, new: NewSandbox) -> Sandbox:
        sandbox = Sandbox(
            *(id, new.key, new.config, dict(new.labels), new.handler),
            *(self._core.now(), new.host_network),
        )
        processes = self._core.processes(new.handler)
        try:
            sandbox = attrs.evolve(sandbox, netns=processes.make_sandbox(sandbox))
            if not new.host_network:
                addresses = self._core.ports.network.attach(sandbox)
                sandbox = attrs.evolve(sandbox, addresses=tuple(addresses))
            processes.start_sandbox(sandbox, lambda _exit: self._broke_down(id, _exit))
        except BaseException:
            self._undo(sandbox)
            raise
        with self._core.lock:
            self._table[id] = sandbox
            self._core.tell(Changed.CREATED, id)
            self._core.tell(Changed.STARTED, id)
        return sandbox

    def _undo(self, sandbox: Sandbox) -> None:
        """Nothing is left of what could not be made (CRI RunPodSandbox)."""
        try:
            if sandbox.addresses:
                self._core.ports.network.detach(sandbox)
        except Refused:
            pass  # the first refusal is the one to tell
        finally:
            self._core.processes(sandbox.handler).remove_sandbox(sandbox)

    def _broke_down(self, id: str, _exit: Exit) -> None:
        self._become(id, "breakdown")

    def _become(self, id: str, event: SandboxEvent) -> None:
        with self._core.lock:
            sandbox = self._table.get(id)
            if sandbox is None or sandbox.state is sandbox_after(sandbox, event):
                return
            state = sandbox_after(sandbox, event)
            self._table[id] = attrs.evolve(sandbox, state=state, addresses=())
            self._core.tell(Changed.STOPPED, id)
