"""What a CSI target has, and why not: the reasons with which needs.py skips cases."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from conformance.csi import rpcs
from conformance.csi.capabilities import transitions
from conformance.csi.preconditions import Surroundings
from conformance.csi.requests import Mode
from conformance.engine.needs import Lacks

__all__ = ["lacks"]


def lacks(csi: Surroundings) -> Lacks:
    """Feature -> why the target has not got it; what has to be tried out is tried when asked."""
    reasons: dict[str, str | Callable[[], str]] = {
        name: partial(_reason, csi, has, reason) for name, (has, reason) in _FEATURES.items()
    }
    reasons |= {name: partial(reason, csi) for name, reason in _LAYERED.items()}
    return Lacks(reasons, partial(_advertised, csi))


def _reason(csi: Surroundings, has: Callable[[Surroundings], object], reason: str) -> str:
    return "" if has(csi) else reason


def _advertised(csi: Surroundings, feature: str) -> str:
    """Of capabilities, services and access modes, such as `node:EXPAND_VOLUME`, `service:node`."""
    kind, colon, name = feature.partition(":")
    if not colon:
        raise KeyError(feature)
    if kind == "service":
        return "" if name in csi.offers.services else f"no {name} service"
    if kind == "mode":
        makes = csi.makes(Mode.Mode.Value(name))
        return "" if makes else f"the driver makes no volumes for access mode {name}"
    return "" if feature in csi.offers else f"{kind} capability {name} is off"


def _mounts(csi: Surroundings) -> str:
    """Whether a published volume is a mount that this process sees."""
    if reason := _seen(csi):
        return reason
    if csi.published[0] in ("mount", "unknown"):
        return ""
    return "the driver makes no mounts that can be seen from here"


def _seen(csi: Surroundings) -> str:
    """Whether there are volumes, published where this process sees them."""
    return csi.lacks["files"] or csi.lacks["volumes"] or csi.lacks["service:node"]


def _file_systems(csi: Surroundings) -> str:
    """Whether a volume has a file system of its own, and not a share of another one."""
    if csi.fake and "fs_types" not in csi.fake.storage.capabilities:
        return "the fake makes no file systems here (loop devices and mkfs are needed)"
    return csi.lacks["mounts"]


def _data(csi: Surroundings) -> str:
    """Whether a published path leads to the volume's data."""
    if csi.settings.access_mode.endswith("READER_ONLY"):
        return "volumes are made for readers only (access_mode)"
    if reason := _seen(csi):
        return reason
    how, writable = csi.published
    if how == "nothing":
        return "nothing can be seen at a published target"
    if how == "plain":
        return "the driver publishes plain directories without a volume behind them"
    return "" if writable else "this user may not write to the driver's volumes"


def _near_node(csi: Surroundings) -> str:
    """Whether two nodes can share a volume."""
    reason = "" if csi.near_node_id else "the nodes share no volumes"
    return csi.lacks["second node"] or reason


def _attach_limit(csi: Surroundings) -> str:
    """Whether the node tells a limit and the user wants it reached."""
    if not csi.offers.max_volumes:
        return "the node tells no limit (max_volumes_per_node)"
    if not (csi.settings.attach_limit or csi.fake):
        return "attaching up to the limit is asked for by --csi.testnodevolumeattachlimit"
    return ""


_LAYERED: dict[str, Callable[[Surroundings], str]] = {
    "mounts": _mounts,
    "file systems": _file_systems,
    "data": _data,
    "near node": _near_node,
    "attach limit": _attach_limit,
}
"""Features that rest on others, or have several reasons to be missing."""

_FEATURES: dict[str, tuple[Callable[[Surroundings], object], str]] = {
    # What the driver makes and tells.
    "volumes": (
        lambda csi: "controller:CREATE_DELETE_VOLUME" in csi.offers or csi.settings.volume_id,
        "the driver makes no volumes and no volume_id is configured",
    ),
    "block": (lambda csi: csi.makes(block=True), "the driver makes no block volumes"),
    "mount": (lambda csi: csi.makes(block=False), "the driver makes no mount volumes"),
    "sharing": (
        lambda csi: csi.sharing_mode(),
        "the driver makes no volumes for several targets",
    ),
    "maximum size": (
        lambda csi: csi.told_capacity.HasField("maximum_volume_size"),
        "GetCapacity tells no maximum_volume_size",
    ),
    "minimum size": (
        lambda csi: csi.told_capacity.minimum_volume_size.value > 1,
        "GetCapacity tells no minimum_volume_size",
    ),
    "closed RPC": (lambda csi: rpcs.closed(csi.offers), "every capability is on"),
    "condition and health": (
        lambda csi: transitions(csi.offers),
        "conditions and health are not both advertised",
    ),
    # Nodes and endpoints.
    "node id": (lambda csi: csi.offers.node_id, "no node tells its id (NodeGetInfo)"),
    "node topology": (
        lambda csi: csi.offers.topology,
        "the node tells no place of its own (NodeGetInfo, accessible_topology)",
    ),
    "place": (lambda csi: csi.place, "neither NodeGetInfo nor CreateVolume tells a place"),
    "second node": (
        lambda csi: csi.other_node_id,
        "no second node (node_endpoints or other_node_id)",
    ),
    "second endpoint": (
        lambda csi: len(csi.nodes) > 1,
        "no second node endpoint (node_endpoints)",
    ),
    "split endpoints": (
        lambda csi: any(endpoint != csi.endpoint for endpoint in csi.node_endpoints),
        "controller and node share one endpoint",
    ),
    # What the suite sees, and may do.
    "paths": (
        lambda csi: csi.paths,
        "the driver may be on another host; give path commands or a unix socket",
    ),
    "files": (
        lambda csi: csi.paths and csi.paths.visible,
        "the driver's files cannot be seen from here",
    ),
    "kinds": (
        lambda csi: csi.paths and (csi.paths.visible or csi.settings.check_path),
        "what the driver puts at a path cannot be seen from here (--csi.checkpathcmd)",
    ),
    "root": (lambda _: os.geteuid() == 0, "needs root"),
    "command": (
        lambda csi: csi.command,
        "the suite did not start the driver (give -- COMMAND)",
    ),
    # What the user has to say; our fake says most of it of itself (known.py).
    "backing": (
        lambda csi: csi.settings.backing_dir,
        "the driver's own directory is not configured (backing_dir)",
    ),
    "secrets": (lambda csi: csi.settings.secrets, "no secrets are configured (--csi.secrets)"),
    "create secrets": (
        lambda csi: csi.settings.secrets_for("CreateVolume"),
        "no secrets for CreateVolume are configured (--csi.secrets)",
    ),
    "other parameters": (
        lambda csi: csi.settings.other_parameters,
        "no second set of parameters is configured (other_parameters)",
    ),
    "mutable parameters": (
        lambda csi: csi.settings.mutable_parameters,
        "no mutable parameters are configured (--csi.testvolumemutableparameters)",
    ),
    "other mutable parameters": (
        lambda csi: csi.settings.other_mutable_parameters,
        "no other mutable parameters are configured (other_mutable_parameters)",
    ),
    "ephemeral": (
        lambda csi: csi.settings.ephemeral,
        "inline ephemeral volumes are not declared (ephemeral = true)",
    ),
    "faults": (
        lambda csi: csi.hooks.has("break_volume", "repair_volume"),
        "no hook breaks and repairs volumes (hooks.break_volume, hooks.repair_volume)",
    ),
    "several faults": (
        lambda csi: (
            csi.hooks.takes("break_volume", "reason") and csi.hooks.takes("repair_volume", "reason")
        ),
        "the hooks know one fault a volume ({reason} in both)",
    ),
    "node faults": (
        lambda csi: csi.hooks.has("break_volume_on_node", "repair_volume_on_node"),
        "no hook breaks a volume for one node (hooks.break_volume_on_node, repair_...)",
    ),
    "holding": (
        lambda csi: csi.hooks.has("hold_volume", "release_volume"),
        "no hook makes calls hang (hooks.hold_volume, hooks.release_volume)",
    ),
    "storage faults": (
        lambda csi: csi.hooks.has("break_storage", "repair_storage"),
        "no hook breaks and repairs the back end (hooks.break_storage, repair_storage)",
    ),
    "dependency faults": (
        lambda csi: csi.hooks.has("break_dependency", "repair_dependency"),
        "no hook takes a dependency away (hooks.break_dependency, repair_dependency)",
    ),
}
"""Feature -> whether the target has it, and the reason why not."""
