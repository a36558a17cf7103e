"""What a user says of a CSI target: csi-sanity's options, and the [csi] table of a target file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

AccessMode = Literal[
    "SINGLE_NODE_WRITER",
    "SINGLE_NODE_READER_ONLY",
    "MULTI_NODE_READER_ONLY",
    "MULTI_NODE_SINGLE_WRITER",
    "MULTI_NODE_MULTI_WRITER",
    "SINGLE_NODE_SINGLE_WRITER",
    "SINGLE_NODE_MULTI_WRITER",
]

# csi-sanity's YAML of secrets: one map a kind of call, under these names.
SECRET_KEYS = {
    "CreateVolume": "CreateVolumeSecret",
    "DeleteVolume": "DeleteVolumeSecret",
    "ControllerPublishVolume": "ControllerPublishVolumeSecret",
    "ControllerUnpublishVolume": "ControllerUnpublishVolumeSecret",
    "ValidateVolumeCapabilities": "ControllerValidateVolumeCapabilitiesSecret",
    "NodeStageVolume": "NodeStageVolumeSecret",
    "NodePublishVolume": "NodePublishVolumeSecret",
    "NodeExpandVolume": "NodeExpandVolumeSecret",
    "CreateSnapshot": "CreateSnapshotSecret",
    "DeleteSnapshot": "DeleteSnapshotSecret",
    "ListSnapshots": "ListSnapshotsSecret",
    "GetSnapshot": "GetSnapshotSecret",
    "ControllerExpandVolume": "ControllerExpandVolumeSecret",
    "ControllerModifyVolume": "ControllerModifyVolumeSecret",
    "ControllerListVolumeHealth": "ControllerListVolumeHealthSecret",
    "ControllerGetVolumeHealth": "ControllerGetVolumeHealthSecret",
    "NodeGetStorageHealth": "NodeGetStorageHealthSecret",
}


Hook = Literal[
    "break_volume",
    "repair_volume",
    "break_volume_on_node",  # seen by that node, not by the others
    "repair_volume_on_node",
    "hold_volume",  # what works on the volume hangs, until it is released
    "release_volume",
    "break_storage",
    "repair_storage",
    "break_dependency",
    "repair_dependency",
]
"""Commands of the user that break and repair things behind the driver's back.

{volume_id}, {status}, {reason} and {node} are filled in; no shell is involved. A command that
repairs succeeds, too, where nothing is broken. {reason} in break_volume and repair_volume says
that a volume can have several faults at once, of which it tells one.
"""


class CsiSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Everything of a CSI target that cannot be asked over its socket."""

    controller_endpoint: str = ""
    node_endpoints: list[str] = []
    volume_size: int = 0  # bytes, 0: the smallest of some usual sizes that the driver makes
    expand_size: int = 0  # bytes, 0: twice the size
    most_bytes: int = 0  # held at once, 0: 4 GiB, or `most_volumes` of the size where that is more
    most_volumes: int = 16  # held at once
    access_type: Literal["mount", "block"] = "mount"
    access_mode: AccessMode = "SINGLE_NODE_WRITER"  # of the volumes made, unless a case is about it
    parameters: dict[str, str] = {}
    other_parameters: dict[str, str] = {}  # a second set that makes a different volume
    mutable_parameters: dict[str, str] = {}
    other_mutable_parameters: dict[str, str] = {}
    snapshot_parameters: dict[str, str] = {}
    secrets: dict[str, dict[str, str]] = {}
    wrong_secrets: dict[str, str] = {}
    invalid_token: str = "invalid-token"
    attach_limit: bool = False
    other_node_id: str = ""  # a second node the controller knows, where only one has an endpoint
    volume_id: str = ""  # a volume that exists, for drivers that make none
    unknown_volume_id: str = ""
    unknown_snapshot_id: str = ""
    backing_dir: str = ""  # where the driver keeps what volumes are made of, as this suite sees it
    ephemeral: bool = False  # inline ephemeral volumes are made
    volume_context: dict[str, str] = {}
    same_host: bool | None = None
    target_dir: str = ""
    staging_dir: str = ""
    make_target: str = ""
    make_staging: str = ""
    make_timeout_s: float = 10.0
    remove_target: str = ""
    remove_staging: str = ""
    remove_timeout_s: float = 10.0
    check_path: str = ""
    check_timeout_s: float = 10.0
    hooks: dict[Hook, list[str]] = {}

    def secrets_for(self, rpc: str) -> Mapping[str, str]:
        """The secrets of one kind of call, empty where none are configured."""
        return self.secrets.get(SECRET_KEYS.get(rpc, ""), {})
