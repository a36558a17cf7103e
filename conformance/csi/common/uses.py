"""Ways to use a volume: the access modes that may be sent, and how a failure names a use."""

from __future__ import annotations

from conformance.csi.needs import SINGLE_NODE_MULTI_WRITER
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from refimpl.csi.api import csi_pb2 as pb

Modes = tuple[Mode.Mode.ValueType, ...]

_SINGLE_NODE: Modes = (Mode.SINGLE_NODE_WRITER, Mode.SINGLE_NODE_READER_ONLY)
_MULTI_NODE: Modes = (
    Mode.MULTI_NODE_READER_ONLY,
    Mode.MULTI_NODE_SINGLE_WRITER,
    Mode.MULTI_NODE_MULTI_WRITER,
)
_FINER: Modes = (Mode.SINGLE_NODE_SINGLE_WRITER, Mode.SINGLE_NODE_MULTI_WRITER)


def single_node_modes(csi: CsiTarget) -> Modes:
    """The modes for one node. Two of them may be sent only with SINGLE_NODE_MULTI_WRITER."""
    return _SINGLE_NODE + (_FINER if csi.has(SINGLE_NODE_MULTI_WRITER) else ())


def all_modes(csi: CsiTarget) -> Modes:
    """Every mode that may be sent to this driver."""
    return single_node_modes(csi) + _MULTI_NODE


def other_type(csi: CsiTarget, mode: Mode.Mode.ValueType | None = None) -> pb.VolumeCapability:
    """A capability of the access type that `csi.requests.capability()` is not of."""
    mount = csi.requests.capability().WhichOneof("access_type") == "mount"
    return csi.requests.capability(mode, block=mount)


def described(capability: pb.VolumeCapability) -> str:
    """A capability in the few words of a failure: SINGLE_NODE_WRITER, mount."""
    kind = capability.WhichOneof("access_type") or "no access type"
    words = [Mode.Mode.Name(capability.access_mode.mode), kind, capability.mount.fs_type]
    return ", ".join(filter(None, words))
