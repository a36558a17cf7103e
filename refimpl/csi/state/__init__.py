"""The behaviour of a CSI driver as plain Python: the fake serves it, its tests compare with it.

`DriverState` is the controller side and what nodes share with it; `node.NodeState` is one node.
No I/O, no grpc, no clock: `ports` says what is passed in. A refusal is `wire.status.Refused`.
"""

from __future__ import annotations

from refimpl.csi.state.ports import Clock, Ids, OnChange, Storage, unobserved
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.snapshots.groups import Groups
from refimpl.csi.state.snapshots.metadata import Metadata
from refimpl.csi.state.snapshots.snapshots import Snapshots
from refimpl.csi.state.tables import DriverTables
from refimpl.csi.state.volumes.attachments import Attachments
from refimpl.csi.state.volumes.changes import Changes
from refimpl.csi.state.volumes.health import Health
from refimpl.csi.state.volumes.queries import Queries
from refimpl.csi.state.volumes.topology import place_of_node
from refimpl.csi.state.volumes.volumes import Volumes
from refimpl.wire.status import Code, Refused

__all__ = ["DriverState"]


class DriverState:
    """One driver. Each part answers the RPCs its module names; all share `tables`."""

    def __init__(
        self,
        settings: DriverSettings,
        *,
        clock: Clock,
        ids: Ids,
        storage: Storage | None = None,
        on_change: OnChange = unobserved,
        nodes: int = 1,
    ) -> None:
        self.settings = settings
        self.missing_dependency = ""
        self.tables = DriverTables(
            settings, clock=clock, ids=ids, storage=storage, on_change=on_change
        )
        self.volumes = Volumes(self.tables)
        self.changes = Changes(self.tables)
        self.queries = Queries(self.tables)
        self.attachments = Attachments(self.tables)
        self.snapshots = Snapshots(self.tables)
        self.groups = Groups(self.tables)
        self.metadata = Metadata(self.tables)
        self.health = Health(self.tables)
        for index in range(nodes):
            self.tables.register_node(f"node-{index}", place_of_node(settings, index))

    def ready(self) -> bool:
        """Probe: false during the first seconds where the settings say so. FAILED_PRECONDITION
        while something is missing that the driver depends on."""
        if self.missing_dependency:
            reason = f"Probe: this driver depends on {self.missing_dependency}, which is not there"
            raise Refused(Code.FAILED_PRECONDITION, reason)
        return self.tables.clock() >= self.tables.started + self.settings.ready_after
