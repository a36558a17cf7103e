"""kubelet's device manager as plain Python: devices, placement, allocation, records.

`DeviceState` is one kubelet from its start to its end. No I/O, no grpc, no clock: calls to plugins
and writes of the checkpoint are effects that it yields (`effects`). A refusal on the registration
side is `wire.status.Refused`; one of a pod is an `Admission`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from refimpl.deviceplugin.state import capacity, effects
from refimpl.deviceplugin.state.admission import Admissions
from refimpl.deviceplugin.state.capacity import NodeStatus, ResourceCount
from refimpl.deviceplugin.state.checkpoint import Saved
from refimpl.deviceplugin.state.endpoints import Clock
from refimpl.deviceplugin.state.merge import TopologyPolicy
from refimpl.deviceplugin.state.order import Order, in_order
from refimpl.deviceplugin.state.scopes import Scope, ScopeName, Wishes, no_wishes
from refimpl.deviceplugin.state.settings import Settings
from refimpl.deviceplugin.state.tables import Note, Tables, unheard

__all__ = ["DeviceState"]

T = TypeVar("T")


class DeviceState:
    """One kubelet. `tables` holds devices, endpoints, records; `admissions` the flows of pods."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock,
        policy: TopologyPolicy | None = None,
        scope: ScopeName = "container",
        wishes: Wishes = no_wishes,
        order: Order = in_order,
        note: Note = unheard,
    ) -> None:
        self.settings = settings
        self.node = NodeStatus()
        topology = Scope(policy or TopologyPolicy(), scope, wishes)
        self.tables = Tables(settings, clock=clock, scope=topology, order=order, note=note)
        self.admissions = Admissions(self.tables)

    def run(self, flow: effects.Flow[T], call: Callable[[effects.Effect], object]) -> T:
        """Drive a flow of `admissions`; the state is locked but for the calls."""
        return effects.perform(flow, call, self.tables.lock)

    def count(self) -> ResourceCount:
        """Count the node's resources, which drops those long lost, and renew `node`."""
        with self.tables.lock:
            counted = capacity.count(self.tables.devices, self.tables.endpoints)
            self.node.update(counted)
            return counted

    def saved(self, boot_id: str = "") -> Saved:
        """What the checkpoint has to hold now."""
        with self.tables.lock:
            healthy = self.tables.devices.healthy
            registered = {name: tuple(sorted(ids)) for name, ids in healthy.items()}
            return Saved(tuple(self.tables.records), registered, boot_id)

    def restore(
        self, saved: Saved, *, running: Iterable[tuple[str, str]] = (), boot_id: str = ""
    ) -> None:
        """Start from a checkpoint: resources are there and empty, their plugins just stopped, and
        pods hold what they held. `running`: (pod uid, container) that the runtime reports. Set
        `tables.sources_ready` once all pods have been admitted again."""
        with self.tables.lock:
            for record in saved.records:
                self.tables.records.put(record)
            self.tables.rebuild()
            for name in saved.registered:
                self.tables.devices.restore(name)
                self.tables.endpoints.restore(name)
            self.tables.running = frozenset(running)
            self.tables.same_boot = bool(boot_id) and boot_id == saved.boot_id
            self.tables.sources_ready = False
