"""A runtime's behaviour as plain data: no socket, no schema, no process, no clock of its own."""

from __future__ import annotations

from refimpl.cri.state.containers import Containers
from refimpl.cri.state.images import Images
from refimpl.cri.state.models import Condition
from refimpl.cri.state.ports import Processes
from refimpl.cri.state.sandboxes import Sandboxes
from refimpl.cri.state.settings import RuntimeSettings
from refimpl.cri.state.tables import Core, Ports

__all__ = ["Ports", "RuntimeSettings", "RuntimeState"]


class RuntimeState:
    """One node: `sandboxes`, `containers` and `images`, and `core`, which they share."""

    def __init__(self, settings: RuntimeSettings, ports: Ports) -> None:
        self.settings, self.ports = settings, ports
        self.core = Core(settings, ports)
        self._conditions: dict[str, Condition] = {}
        self.images = Images(self.core)
        self.sandboxes = Sandboxes(self.core)
        self.containers = Containers(self.core, self.sandboxes, self.images)

    def now(self) -> int:
        """Later than any moment before, in ns."""
        return self.core.now()

    def processes(self, handler: str) -> Processes:
        """The process model of a runtime handler; INVALID_ARGUMENT for one that is none."""
        return self.core.processes(handler)

    def conditions(self) -> dict[str, Condition]:
        """RuntimeReady and NetworkReady; one that was set does not hold whatever the network
        says."""
        now = {"RuntimeReady": Condition(), "NetworkReady": self.ports.network.condition()}
        return {**now, **self._conditions}

    def set_condition(self, name: str, reason: str, message: str) -> None:
        """One of them does not hold from now on, for that reason; without one it holds again as far
        as it may. Raises ValueError for another name."""
        if name not in self.conditions():
            raise ValueError(f"there is no condition {name!r}: there is RuntimeReady, NetworkReady")
        self._conditions.pop(name, None)
        if reason:
            self._conditions[name] = Condition(False, reason, message)

    def reboot(self) -> None:
        """As after one of the node: no sandbox and no container is there any more."""
        gone = self.sandboxes.select()
        self.containers.clear()
        self.sandboxes.clear()
        for sandbox in gone:
            self.processes(sandbox.handler).remove_sandbox(sandbox)
            if not sandbox.host_network:
                self.ports.network.detach(sandbox)
