"""What a CSI target has, and why not: the reasons with which needs.py skips cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from conformance.csi import rpcs
from conformance.csi.capabilities import transitions
from conformance.csi.preconditions import Preconditions
from conformance.csi.requests import Mode
from conformance.engine.needs import Lacks

__all__ = ["lacks"]

Reasons = Mapping[str, str]


def lacks(given: Preconditions) -> Lacks:
    """Feature -> why the target has not got it; what has to be tried out is tried when asked."""
    reasons: dict[str, str | Callable[[], str]] = {
        name: partial(_reason, given, there, reason) for name, (there, reason) in _FEATURES.items()
    }
    table = Lacks(reasons, partial(_advertised, given))
    reasons |= {name: partial(reason, given, table) for name, reason in _LAYERED.items()}
    return table


def _reason(given: Preconditions, there: Callable[[Preconditions], object], reason: str) -> str:
    return "" if there(given) else reason


def _advertised(given: Preconditions, feature: str) -> str:
    """Of capabilities, services and access modes, such as `node:EXPAND_VOLUME`, `service:node`."""
    kind, colon, name = feature.partition(":")
    if not colon:
        raise KeyError(feature)
    if kind == "service":
        return "" if name in given.capabilities.services else f"no {name} service"
    if kind == "mode":
        makes = given.makes(Mode.Mode.Value(name))
        return "" if makes else f"the driver makes no volumes for access mode {name}"
    return "" if feature in given.capabilities else f"{kind} capability {name} is off"


def _seen(lacks: Reasons) -> str:
    """Whether there are volumes, published where this process sees them."""
    return lacks["files"] or lacks["volumes"] or lacks["service:node"]


def _mounts(given: Preconditions, lacks: Reasons) -> str:
    """Whether a published volume is a mount that this process sees."""
    if reason := _seen(lacks):
        return reason
    if given.published[0] in ("mount", "unknown"):
        return ""
    return "the driver makes no mounts that can be seen from here"


def _file_systems(given: Preconditions, lacks: Reasons) -> str:
    """Whether a volume has a file system of its own, and not a share of another one."""
    if given.fake and "fs_types" not in given.fake.storage.capabilities:
        return "the fake makes no file systems here (loop devices and mkfs are needed)"
    return lacks["mounts"]


def _data(given: Preconditions, lacks: Reasons) -> str:
    """Whether a published path leads to the volume's data."""
    if given.settings.access_mode.endswith("READER_ONLY"):
        return "volumes are made for readers only (access_mode)"
    if reason := _seen(lacks):
        return reason
    how, writable = given.published
    if how == "nothing":
        return "nothing can be seen at a published target"
    if how == "plain":
        return "the driver publishes plain directories without a volume behind them"
    return "" if writable else "this user may not write to the driver's volumes"


def _near_node(given: Preconditions, lacks: Reasons) -> str:
    """Whether two nodes can share a volume."""
    if reason := lacks["second node"]:
        return reason
    return "" if given.near_node_id else "the nodes share no volumes"


def _attach_limit(given: Preconditions, _: Reasons) -> str:
    """Whether the node tells a limit and the user wants it reached."""
    most = given.capabilities.max_volumes
    if most <= 0:
        return f"the node tells no limit (max_volumes_per_node is {most})"
    if not given.settings.attach_limit:
        return "attaching up to the limit is asked for by --csi.testnodevolumeattachlimit"
    return ""


_LAYERED: dict[str, Callable[[Preconditions, Reasons], str]] = {
    "mounts": _mounts,
    "file systems": _file_systems,
    "data": _data,
    "near node": _near_node,
    "attach limit": _attach_limit,
}
"""Features that rest on others, or have several reasons to be missing."""

_FEATURES: dict[str, tuple[Callable[[Preconditions], object], str]] = {
    # What the driver makes and tells.
    "volumes": (
        lambda given: (
            "controller:CREATE_DELETE_VOLUME" in given.capabilities or given.settings.volume_id
        ),
        "the driver makes no volumes and no volume_id is configured",
    ),
    "block": (lambda given: given.makes(block=True), "the driver makes no block volumes"),
    "mount": (lambda given: given.makes(block=False), "the driver makes no mount volumes"),
    "sharing": (
        lambda given: given.sharing_mode(),
        "the driver makes no volumes for several targets",
    ),
    "maximum size": (
        lambda given: given.capacity.HasField("maximum_volume_size"),
        "GetCapacity tells no maximum_volume_size",
    ),
    "minimum size": (
        lambda given: given.capacity.minimum_volume_size.value > 1,
        "GetCapacity tells no minimum_volume_size",
    ),
    "closed RPC": (lambda given: rpcs.closed(given.capabilities), "every capability is on"),
    "condition and health": (
        lambda given: transitions(given.capabilities),
        "conditions and health are not both advertised",
    ),
    # Nodes and endpoints.
    "node id": (lambda given: given.capabilities.node_id, "no node tells its id (NodeGetInfo)"),
    "node topology": (
        lambda given: given.capabilities.topology,
        "the node tells no place of its own (NodeGetInfo, accessible_topology)",
    ),
    "place": (lambda given: given.place, "neither NodeGetInfo nor CreateVolume tells a place"),
    "second node": (
        lambda given: given.other_node_id,
        "no second node (node_endpoints or other_node_id)",
    ),
    "second endpoint": (
        lambda given: len(given.connections.at_nodes) > 1,
        "no second node endpoint (node_endpoints)",
    ),
    "split endpoints": (
        lambda given: any(
            endpoint != given.connections.controller for endpoint in given.connections.nodes
        ),
        "controller and node share one endpoint",
    ),
    # What the suite sees, and may do.
    "paths": (
        lambda given: given.paths,
        "the driver may be on another host; give path commands or a unix socket",
    ),
    "files": (
        lambda given: given.paths and given.paths.visible,
        "the driver's files cannot be seen from here",
    ),
    "kinds": (
        lambda given: given.paths and (given.paths.visible or given.settings.check_path),
        "what the driver puts at a path cannot be seen from here (--csi.checkpathcmd)",
    ),
    "root": (lambda _: os.geteuid() == 0, "needs root"),
    "fuse": (
        lambda _: os.access("/dev/fuse", os.R_OK | os.W_OK),
        "no FUSE mounts can be made here (/dev/fuse)",
    ),
    "command": (
        lambda given: given.command,
        "the suite did not start the driver (give -- COMMAND)",
    ),
    # What the user has to say; our fake says most of it of itself (known.py).
    "backing": (
        lambda given: given.settings.backing_dir,
        "the driver's own directory is not configured (backing_dir)",
    ),
    "secrets": (lambda given: given.settings.secrets, "no secrets are configured (--csi.secrets)"),
    "create secrets": (
        lambda given: given.settings.secrets_for("CreateVolume"),
        "no secrets for CreateVolume are configured (--csi.secrets)",
    ),
    "other parameters": (
        lambda given: given.settings.other_parameters,
        "no second set of parameters is configured (other_parameters)",
    ),
    "mutable parameters": (
        lambda given: given.settings.mutable_parameters,
        "no mutable parameters are configured (--csi.testvolumemutableparameters)",
    ),
    "other mutable parameters": (
        lambda given: given.settings.other_mutable_parameters,
        "no other mutable parameters are configured (other_mutable_parameters)",
    ),
    "ephemeral": (
        lambda given: given.settings.ephemeral,
        "inline ephemeral volumes are not declared (ephemeral = true)",
    ),
    "faults": (
        lambda given: given.hooks.has("break_volume", "repair_volume"),
        "no hook breaks and repairs volumes (hooks.break_volume, hooks.repair_volume)",
    ),
    "several faults": (
        lambda given: (
            given.hooks.takes("break_volume", "reason")
            and given.hooks.takes("repair_volume", "reason")
        ),
        "the hooks know one fault a volume ({reason} in both)",
    ),
    "node faults": (
        lambda given: given.hooks.has("break_volume_on_node", "repair_volume_on_node"),
        "no hook breaks a volume for one node (hooks.break_volume_on_node, repair_...)",
    ),
    "holding": (
        lambda given: given.hooks.has("hold_volume", "release_volume"),
        "no hook makes calls hang (hooks.hold_volume, hooks.release_volume)",
    ),
    "storage faults": (
        lambda given: given.hooks.has("break_storage", "repair_storage"),
        "no hook breaks and repairs the back end (hooks.break_storage, repair_storage)",
    ),
    "dependency faults": (
        lambda given: given.hooks.has("break_dependency", "repair_dependency"),
        "no hook takes a dependency away (hooks.break_dependency, repair_dependency)",
    ),
}
"""Feature -> whether the target has it, and the reason why not."""
