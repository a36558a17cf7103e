"""What a user says of a CSI target: csi-sanity's options, and the [csi] table of a target file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from conformance.engine.options import BadOption

GIB = 1 << 30

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


class Hooks(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Commands of the user that break and repair things behind the driver's back.

    {volume_id}, {status}, {reason} and {node} are filled in; no shell is involved. A command that
    repairs succeeds, too, where nothing is broken. {reason} in break_volume and repair_volume says
    that a volume can have several faults at once, of which it tells one.
    """

    break_volume: list[str] = []
    repair_volume: list[str] = []
    break_volume_on_node: list[str] = []  # seen by that node, not by the others
    repair_volume_on_node: list[str] = []
    hold_volume: list[str] = []  # what works on the volume hangs, until it is released
    release_volume: list[str] = []
    break_storage: list[str] = []
    repair_storage: list[str] = []
    break_dependency: list[str] = []
    repair_dependency: list[str] = []


class CsiSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Everything of a CSI target that cannot be asked over its socket."""

    controller_endpoint: str = ""
    node_endpoints: list[str] = []
    volume_size: int = 10 * GIB
    expand_size: int = 0
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
    hooks: Hooks = msgspec.field(default_factory=Hooks)

    def __post_init__(self) -> None:
        self.expand_size = self.expand_size or self.volume_size + GIB

    def secrets_for(self, rpc: str) -> Mapping[str, str]:
        """The secrets of one kind of call, empty where none are configured."""
        return self.secrets.get(SECRET_KEYS.get(rpc, ""), {})


# csi-sanity's option (as the command line hands it over) -> field here, and how it is read.
_TEXT, _MAP, _SECRETS, _DURATION, _PLAIN = "text", "map", "secrets", "duration", "plain"
_OPTIONS = {
    "csi_controllerendpoint": ("controller_endpoint", _TEXT),
    "csi_secrets": ("secrets", _SECRETS),
    "csi_testvolumesize": ("volume_size", _PLAIN),
    "csi_testvolumeexpandsize": ("expand_size", _PLAIN),
    "csi_testvolumeaccesstype": ("access_type", _TEXT),
    "csi_testvolumeparameters": ("parameters", _MAP),
    "csi_testvolumemutableparameters": ("mutable_parameters", _MAP),
    "csi_testsnapshotparameters": ("snapshot_parameters", _MAP),
    "csi_testnodevolumeattachlimit": ("attach_limit", _PLAIN),
    "csi_testinvalidlistvolumesstartingtoken": ("invalid_token", _TEXT),
    "csi_mountdir": ("target_dir", _TEXT),
    "csi_stagingdir": ("staging_dir", _TEXT),
    "csi_createmountpathcmd": ("make_target", _TEXT),
    "csi_createstagingpathcmd": ("make_staging", _TEXT),
    "csi_createpathcmdtimeout": ("make_timeout_s", _DURATION),
    "csi_removemountpathcmd": ("remove_target", _TEXT),
    "csi_removestagingpathcmd": ("remove_staging", _TEXT),
    "csi_removepathcmdtimeout": ("remove_timeout_s", _DURATION),
    "csi_checkpathcmd": ("check_path", _TEXT),
    "csi_checkpathcmdtimeout": ("check_timeout_s", _DURATION),
}


def settings(table: Mapping[str, Any], options: Mapping[str, Any]) -> CsiSettings:
    """The [csi] table of a target file, overlaid with options of the command line.

    Raises BadOption naming the option or the key that cannot be used.
    """
    chosen = dict(table)
    for name in ("secrets", "parameters", "mutable_parameters", "snapshot_parameters"):
        if isinstance(chosen.get(name), str):
            chosen[name] = _load(name, chosen[name], _SECRETS if name == "secrets" else _MAP)
    for option, value in options.items():
        field, kind = _OPTIONS[option]
        chosen[field] = _load(f"--{option.replace('_', '.', 1)}", value, kind)
    try:
        return msgspec.convert(chosen, CsiSettings)
    except msgspec.ValidationError as error:
        raise BadOption(f"CSI settings: {error}") from error


def _load(name: str, value: Any, kind: str) -> Any:
    if kind == _DURATION:
        return seconds(name, value)
    if kind not in (_MAP, _SECRETS):
        return value
    wanted = dict[str, str] if kind == _MAP else dict[str, dict[str, str]]
    try:
        # All is text here, as for csi-sanity: a number, or a word such as `yes`.
        return msgspec.convert(yaml.load(Path(value).read_text(), yaml.BaseLoader) or {}, wanted)
    except OSError as error:
        raise BadOption(f"{name} {value}: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        # Not the text of the error: it quotes the file, which may hold secrets.
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadOption(f"{name} {value}: not YAML{line}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadOption(f"{name} {value}: not YAML ({type(error).__name__})") from None
    except msgspec.ValidationError as error:
        shape = "a map of text" if kind == _MAP else "one map of text for each kind of call"
        raise BadOption(f"{name} {value}: has to be {shape}: {error}") from error


def seconds(name: str, value: str) -> float:
    """A Go duration such as `10s`, `1m30s` or `500ms` in seconds, as csi-sanity takes them."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", value)
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise BadOption(f"{name} {value}: write a duration such as 10s or 1m30s")
    return sum(float(number) * units[unit] for number, unit in parts)
