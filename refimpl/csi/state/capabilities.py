"""Which capability opens which RPC, what implies what, and which revision knows what (CSI 1.13).

Literal tables; `DriverSettings` reads them. Groups are named after who answers them: plugin
(GetPluginCapabilities, Service), expansion (the same, VolumeExpansion), controller, group, node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

Revision = Literal["1.12", "1.13"]
CapabilityGroup = Literal["plugin", "expansion", "controller", "group", "node"]
Name = tuple[CapabilityGroup, str]

NUMBERS: Mapping[CapabilityGroup, Mapping[str, int]] = {
    "plugin": {
        "CONTROLLER_SERVICE": 1,
        "VOLUME_ACCESSIBILITY_CONSTRAINTS": 2,
        "GROUP_CONTROLLER_SERVICE": 3,
        "SNAPSHOT_METADATA_SERVICE": 4,
        "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS": 5,
    },
    "expansion": {"ONLINE": 1, "OFFLINE": 2},
    "controller": {
        "CREATE_DELETE_VOLUME": 1,
        "PUBLISH_UNPUBLISH_VOLUME": 2,
        "LIST_VOLUMES": 3,
        "GET_CAPACITY": 4,
        "CREATE_DELETE_SNAPSHOT": 5,
        "LIST_SNAPSHOTS": 6,
        "CLONE_VOLUME": 7,
        "PUBLISH_READONLY": 8,
        "EXPAND_VOLUME": 9,
        "LIST_VOLUMES_PUBLISHED_NODES": 10,
        "VOLUME_CONDITION": 11,
        "GET_VOLUME": 12,
        "SINGLE_NODE_MULTI_WRITER": 13,
        "MODIFY_VOLUME": 14,
        "GET_SNAPSHOT": 15,
        "GET_VOLUME_HEALTH": 16,
        "LIST_VOLUME_HEALTH": 17,
    },
    "group": {"CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT": 1},
    "node": {
        "STAGE_UNSTAGE_VOLUME": 1,
        "GET_VOLUME_STATS": 2,
        "EXPAND_VOLUME": 3,
        "VOLUME_CONDITION": 4,
        "SINGLE_NODE_MULTI_WRITER": 5,
        "VOLUME_MOUNT_GROUP": 6,
        "GET_VOLUME_HEALTH": 7,
        "GET_STORAGE_HEALTH": 8,
    },
}

SINCE_1_13: frozenset[Name] = frozenset(
    {
        ("plugin", "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS"),
        ("controller", "GET_VOLUME_HEALTH"),
        ("controller", "LIST_VOLUME_HEALTH"),
        ("node", "GET_VOLUME_HEALTH"),
        ("node", "GET_STORAGE_HEALTH"),
    }
)
UNTIL_1_12: frozenset[Name] = frozenset(
    {("controller", "VOLUME_CONDITION"), ("node", "VOLUME_CONDITION")}
)


@attrs.frozen
class Implication:
    """`name` may be advertised only beside one of `one_of`; `required` = the specification says so,
    otherwise a driver without it would be legal but of no use."""

    name: Name
    one_of: tuple[Name, ...]
    required: bool = True


IMPLICATIONS: tuple[Implication, ...] = (
    *(
        Implication(("controller", name), (("plugin", "CONTROLLER_SERVICE"),))
        for name in NUMBERS["controller"]
    ),
    Implication(
        ("controller", "LIST_VOLUMES_PUBLISHED_NODES"),
        (("controller", "PUBLISH_UNPUBLISH_VOLUME"),),
    ),
    Implication(("controller", "PUBLISH_READONLY"), (("controller", "PUBLISH_UNPUBLISH_VOLUME"),)),
    Implication(
        ("controller", "CREATE_DELETE_SNAPSHOT"), (("controller", "CREATE_DELETE_VOLUME"),)
    ),
    Implication(("controller", "CLONE_VOLUME"), (("controller", "CREATE_DELETE_VOLUME"),)),
    Implication(("controller", "LIST_VOLUME_HEALTH"), (("controller", "GET_VOLUME_HEALTH"),)),
    Implication(
        ("expansion", "ONLINE"), (("controller", "EXPAND_VOLUME"), ("node", "EXPAND_VOLUME"))
    ),
    Implication(("expansion", "OFFLINE"), (("controller", "EXPAND_VOLUME"),)),
    Implication(
        ("group", "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"),
        (("plugin", "GROUP_CONTROLLER_SERVICE"),),
    ),
    Implication(
        ("plugin", "GROUP_CONTROLLER_SERVICE"),
        (("group", "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"),),
        required=False,
    ),
    *(
        Implication(name, (("controller", "CREATE_DELETE_SNAPSHOT"),), required=False)
        for name in (
            ("controller", "LIST_SNAPSHOTS"),
            ("controller", "GET_SNAPSHOT"),
            ("group", "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"),
            ("plugin", "SNAPSHOT_METADATA_SERVICE"),
            ("plugin", "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS"),
        )
    ),
)


@attrs.frozen
class Prerequisite:
    """What must be advertised before an RPC may be called: a service, and one of `names` if any."""

    service: str
    names: tuple[Name, ...] = ()
    since: Revision = "1.12"


def _controller(*names: str, since: Revision = "1.12") -> Prerequisite:
    return Prerequisite("CONTROLLER_SERVICE", tuple(("controller", name) for name in names), since)


def _node(*names: str, since: Revision = "1.12") -> Prerequisite:
    return Prerequisite("NODE", tuple(("node", name) for name in names), since)


_GROUP = Prerequisite(
    "GROUP_CONTROLLER_SERVICE", (("group", "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"),)
)

PREREQUISITES: Mapping[str, Prerequisite] = {
    "GetPluginInfo": Prerequisite(""),
    "GetPluginCapabilities": Prerequisite(""),
    "Probe": Prerequisite(""),
    "ControllerGetCapabilities": _controller(),
    "ValidateVolumeCapabilities": _controller(),
    "CreateVolume": _controller("CREATE_DELETE_VOLUME"),
    "DeleteVolume": _controller("CREATE_DELETE_VOLUME"),
    "ControllerPublishVolume": _controller("PUBLISH_UNPUBLISH_VOLUME"),
    "ControllerUnpublishVolume": _controller("PUBLISH_UNPUBLISH_VOLUME"),
    "ListVolumes": _controller("LIST_VOLUMES"),
    "ControllerListVolumeHealth": _controller("LIST_VOLUME_HEALTH", since="1.13"),
    "ControllerGetVolumeHealth": _controller(
        "GET_VOLUME_HEALTH", "LIST_VOLUME_HEALTH", since="1.13"
    ),
    "GetCapacity": _controller("GET_CAPACITY"),
    "CreateSnapshot": _controller("CREATE_DELETE_SNAPSHOT"),
    "DeleteSnapshot": _controller("CREATE_DELETE_SNAPSHOT"),
    "ListSnapshots": _controller("LIST_SNAPSHOTS"),
    "GetSnapshot": _controller("GET_SNAPSHOT"),
    "ControllerExpandVolume": _controller("EXPAND_VOLUME"),
    "ControllerGetVolume": _controller("GET_VOLUME"),
    "ControllerModifyVolume": _controller("MODIFY_VOLUME"),
    "GroupControllerGetCapabilities": Prerequisite("GROUP_CONTROLLER_SERVICE"),
    "CreateVolumeGroupSnapshot": _GROUP,
    "DeleteVolumeGroupSnapshot": _GROUP,
    "GetVolumeGroupSnapshot": _GROUP,
    "GetMetadataAllocated": Prerequisite("SNAPSHOT_METADATA_SERVICE"),
    "GetMetadataDelta": Prerequisite("SNAPSHOT_METADATA_SERVICE"),
    "NodeGetCapabilities": _node(),
    "NodeGetInfo": _node(),
    "NodePublishVolume": _node(),
    "NodeUnpublishVolume": _node(),
    "NodeStageVolume": _node("STAGE_UNSTAGE_VOLUME"),
    "NodeUnstageVolume": _node("STAGE_UNSTAGE_VOLUME"),
    # 1.12: statistics are also due where only conditions are advertised.
    "NodeGetVolumeStats": _node("GET_VOLUME_STATS", "VOLUME_CONDITION"),
    "NodeGetVolumeHealth": _node("GET_VOLUME_HEALTH", since="1.13"),
    "NodeGetStorageHealth": _node("GET_STORAGE_HEALTH", since="1.13"),
    "NodeExpandVolume": _node("EXPAND_VOLUME"),
}


def everything(group: CapabilityGroup, revision: Revision) -> frozenset[str]:
    """All names of a group that the revision knows."""
    strange = UNTIL_1_12 if revision == "1.13" else SINCE_1_13
    return frozenset(name for name in NUMBERS[group] if (group, name) not in strange)
