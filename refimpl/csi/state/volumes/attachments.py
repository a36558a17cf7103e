"""ControllerPublishVolume and ControllerUnpublishVolume: which node has which volume (CSI 1.13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from refimpl.csi.state import rules
from refimpl.csi.state.models import AccessMode, Volume, VolumeAttachment, VolumeCapability
from refimpl.csi.state.tables import DriverTables
from refimpl.csi.state.volumes.requests import unusable
from refimpl.wire.status import Code, Refused


class Attachments:
    """Publishes volumes to nodes."""

    def __init__(self, tables: DriverTables) -> None:
        self._tables = tables

    def publish(
        self,
        volume_id: str,
        node_id: str,
        capability: VolumeCapability | None,
        readonly: bool,
        context: Mapping[str, str],
        secrets: Mapping[str, str],
    ) -> VolumeAttachment:
        """The attachment, new or the same as before.

        NOT_FOUND volume, then node; ALREADY_EXISTS if attached there otherwise;
        FAILED_PRECONDITION if other nodes have it; RESOURCE_EXHAUSTED at the limit of the node."""
        tables, settings = self._tables, self._tables.settings
        settings.demand("ControllerPublishVolume")
        rules.required("volume_id", volume_id)
        rules.required("node_id", node_id, rules.NODE_ID_LIMIT)
        checked = rules.capability("volume_capability", capability)
        rules.secrets(settings, "ControllerPublishVolume", secrets)
        rules.string_map("volume_context", context)
        with tables.guards.hold(volume_id), tables.lock:
            volume = tables.volume(volume_id)
            self._demand_node(node_id)
            self._check_use(volume, checked, readonly, context)
            new = VolumeAttachment(volume_id, node_id, checked, readonly, {"attachment": volume_id})
            nodes = tables.attachments.get(volume_id, {})
            if existing := nodes.get(node_id):
                return _repeated(existing, new)
            self._demand_reachable(volume, node_id)
            self._demand_shareable(new, nodes.values())
            self._demand_slot(node_id)
            tables.put_attachment(new)
            return new

    def unpublish(self, volume_id: str, node_id: str, secrets: Mapping[str, str]) -> None:
        """Detach from the node, or from all if node_id is ""; what is not attached is a success.
        FAILED_PRECONDITION while the node still uses the volume, if the settings say so."""
        tables, settings = self._tables, self._tables.settings
        settings.demand("ControllerUnpublishVolume")
        rules.required("volume_id", volume_id)
        rules.string("node_id", node_id, rules.NODE_ID_LIMIT)
        rules.secrets(settings, "ControllerUnpublishVolume", secrets)
        with tables.guards.hold(volume_id), tables.lock:
            nodes = tables.attachments.get(volume_id, {})
            leaving = [node_id] if node_id in nodes else [] if node_id else list(nodes)
            for node in leaving:
                self._demand_unused(volume_id, node)
            for node in leaving:
                tables.drop_attachment(volume_id, node)

    def _demand_node(self, node_id: str) -> None:
        if node_id not in self._tables.nodes:
            raise Refused(
                Code.NOT_FOUND,
                f"there is no node {rules.quoted(node_id)}; send a node_id from NodeGetInfo",
            )

    def _check_use(
        self,
        volume: Volume,
        capability: VolumeCapability,
        readonly: bool,
        context: Mapping[str, str],
    ) -> None:
        settings = self._tables.settings
        why = rules.unsupported(settings, settings.controller_modes, capability)
        if why := why or unusable(volume, capability):
            raise rules.invalid(f"volume_capability for volume {volume.id}: {why}")
        if readonly and not settings.has("controller", "PUBLISH_READONLY"):
            raise rules.invalid(
                "readonly may be set only with controller capability PUBLISH_READONLY, which this"
                " driver does not advertise; leave it out"
            )
        # Callers add entries of their own, so only ours are compared.
        for key, value in volume.context.items():
            if context.get(key, value) != value:
                raise rules.invalid(
                    f"volume_context has another value for {rules.quoted(key)} than the volume;"
                    " send back what CreateVolume answered"
                )

    def _demand_reachable(self, volume: Volume, node_id: str) -> None:
        place = self._tables.nodes[node_id]
        if volume.topology and place.segments and place not in volume.topology:
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"volume {volume.id} is not accessible from node {node_id}, which lies in"
                f" {dict(place.segments)}; choose a node within its accessible_topology",
            )

    def _demand_shareable(self, new: VolumeAttachment, others: Iterable[VolumeAttachment]) -> None:
        for neighbour in others:
            if why := self._conflict(new, neighbour):
                raise Refused(
                    Code.FAILED_PRECONDITION,
                    f"volume {new.volume_id} is published to node {neighbour.node_id} {why};"
                    " unpublish it there first",
                )

    def _conflict(self, new: VolumeAttachment, neighbour: VolumeAttachment) -> str:
        """Why two nodes cannot have the volume at the same time; "" if they can."""
        modes = new.capability.mode, neighbour.capability.mode
        for mode in modes:
            if not mode.multi_node:
                return f"and {mode.name} allows one node"
        both_write = self._writes(new) and self._writes(neighbour)
        if both_write and AccessMode.MULTI_NODE_SINGLE_WRITER in modes:
            return "writable, and MULTI_NODE_SINGLE_WRITER allows one writer"
        return ""

    def _writes(self, attachment: VolumeAttachment) -> bool:
        # Without PUBLISH_READONLY the caller cannot say that it will only read.
        if not self._tables.settings.has("controller", "PUBLISH_READONLY"):
            return False
        return not attachment.readonly and not attachment.capability.mode.read_only

    def _demand_slot(self, node_id: str) -> None:
        limit = self._tables.settings.attach_limit
        if limit and self._tables.attached[node_id] >= limit:
            raise Refused(
                Code.RESOURCE_EXHAUSTED,
                f"node {node_id} has {limit} volumes, as many as max_volumes_per_node allows;"
                " unpublish one, or choose another node",
            )

    def _demand_unused(self, volume_id: str, node_id: str) -> None:
        if self._tables.settings.detach_in_use == "allow":
            return
        for use, node, path in self._tables.uses.get(volume_id, ()):
            if node == node_id:
                raise Refused(
                    Code.FAILED_PRECONDITION,
                    f"volume {volume_id} is in use on {node_id} ({use} at {path});"
                    " call NodeUnpublishVolume and NodeUnstageVolume there first",
                )


def _repeated(existing: VolumeAttachment, new: VolumeAttachment) -> VolumeAttachment:
    """The attachment there is, if it is what is asked for now."""
    same_use = (existing.capability.access, existing.capability.mode, existing.readonly) == (
        new.capability.access,
        new.capability.mode,
        new.readonly,
    )
    if same_use:
        return existing
    raise Refused(
        Code.ALREADY_EXISTS,
        f"volume {new.volume_id} is published to node {new.node_id} as"
        f" {existing.capability.mode.name}, readonly={existing.readonly}, not as"
        f" {new.capability.mode.name}, readonly={new.readonly}; unpublish it first",
    )
