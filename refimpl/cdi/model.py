"""A CDI specification as objects. Lists and mappings are never None; "" means not given."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import attrs

from refimpl.cdi.names import split_kind

T = TypeVar("T")


def _field(name: str, default: Any = "", *, required: bool = False) -> Any:
    """A field and its name in the document."""
    return attrs.field(default=default, metadata={"name": name, "required": required})


def _items(name: str, kind: type | None = None, *, required: bool = False) -> Any:
    """A list of the document, of objects of `kind` where given."""
    metadata = {"name": name, "kind": kind, "required": required}
    return attrs.field(default=(), converter=tuple, metadata=metadata)


def _annotations() -> Any:
    return attrs.field(factory=dict, converter=dict, metadata={"name": "annotations"})


@attrs.frozen
class DeviceNode:
    """A device node of the container; what is not given is taken from the host's node."""

    path: str = _field("path", required=True)
    host_path: str = _field("hostPath")
    type: str = _field("type")
    major: int = _field("major", 0)
    minor: int = _field("minor", 0)
    file_mode: int | None = _field("fileMode", None)
    permissions: str = _field("permissions")
    uid: int | None = _field("uid", None)
    gid: int | None = _field("gid", None)


@attrs.frozen
class NetDevice:
    """An interface of the host that moves into the container under another name."""

    host_interface_name: str = _field("hostInterfaceName", required=True)
    name: str = _field("name", required=True)


@attrs.frozen
class Mount:
    """A mount of a path of the host."""

    host_path: str = _field("hostPath", required=True)
    container_path: str = _field("containerPath", required=True)
    options: tuple[str, ...] = _items("options")
    type: str = _field("type")


@attrs.frozen
class Hook:
    """A program that the runtime starts at the stage `hook_name`; `timeout` in seconds."""

    hook_name: str = _field("hookName", required=True)
    path: str = _field("path", required=True)
    args: tuple[str, ...] = _items("args")
    env: tuple[str, ...] = _items("env")
    timeout: int | None = _field("timeout", None)


@attrs.frozen
class IntelRdt:
    """Settings of the resctrl file system. enableCMT and enableMBM ended with 1.1.0."""

    clos_id: str = _field("closID")
    l3_cache_schema: str = _field("l3CacheSchema")
    mem_bw_schema: str = _field("memBwSchema")
    schemata: tuple[str, ...] = _items("schemata")
    enable_monitoring: bool = _field("enableMonitoring", False)
    enable_cmt: bool = _field("enableCMT", False)
    enable_mbm: bool = _field("enableMBM", False)


@attrs.frozen
class ContainerEdits:
    """What a device changes in a container."""

    env: tuple[str, ...] = _items("env")
    device_nodes: tuple[DeviceNode, ...] = _items("deviceNodes", DeviceNode)
    net_devices: tuple[NetDevice, ...] = _items("netDevices", NetDevice)
    hooks: tuple[Hook, ...] = _items("hooks", Hook)
    mounts: tuple[Mount, ...] = _items("mounts", Mount)
    intel_rdt: IntelRdt | None = attrs.field(
        default=None, metadata={"name": "intelRdt", "kind": IntelRdt}
    )
    additional_gids: tuple[int, ...] = _items("additionalGids")

    def __bool__(self) -> bool:
        return self != ContainerEdits()

    def __add__(self, other: ContainerEdits) -> ContainerEdits:
        """These edits, then the other ones; of intelRdt the later one stays."""
        return ContainerEdits(
            self.env + other.env,
            self.device_nodes + other.device_nodes,
            self.net_devices + other.net_devices,
            self.hooks + other.hooks,
            self.mounts + other.mounts,
            other.intel_rdt or self.intel_rdt,
            self.additional_gids + other.additional_gids,
        )


_EDITS = {"name": "containerEdits", "kind": ContainerEdits}


@attrs.frozen
class Device:
    """One device of a specification."""

    name: str = _field("name", required=True)
    annotations: Mapping[str, str] = _annotations()
    container_edits: ContainerEdits = attrs.field(factory=ContainerEdits, metadata=_EDITS)


@attrs.frozen
class Spec:
    """A whole specification, as one file holds it."""

    version: str = _field("cdiVersion", required=True)
    kind: str = _field("kind", required=True)
    annotations: Mapping[str, str] = _annotations()
    devices: tuple[Device, ...] = _items("devices", Device, required=True)
    container_edits: ContainerEdits = attrs.field(factory=ContainerEdits, metadata=_EDITS)

    @property
    def vendor(self) -> str:
        """The part of `kind` before the slash."""
        return split_kind(self.kind)[0]

    @property
    def device_class(self) -> str:
        """The part of `kind` after the slash."""
        return split_kind(self.kind)[1]

    def qualified(self, device: Device) -> str:
        """The name under which a container asks for the device."""
        return f"{self.kind}={device.name}"


def decode(value: Mapping[str, Any], kind: type[T]) -> T:
    """The object of `kind` from a decoded document in which `validate` found no error and which
    it brought into shape (see `shape.read`).
    """
    members = {}
    for name, key, below in _members(kind):  # type: ignore[arg-type]
        member = value.get(key)
        if member is not None:
            members[name] = member if below is None else _decoded(member, below)
    return kind(**members)


@functools.cache
def _members(kind: Hashable) -> tuple[tuple[str, str, type | None], ...]:
    """(attribute, name in the document, class of what it holds) of each member."""
    return tuple(
        (field.name, field.metadata["name"], field.metadata.get("kind"))
        for field in attrs.fields(kind)  # type: ignore[arg-type]
    )


def _decoded(member: Any, kind: type) -> Any:
    if isinstance(member, list):
        return [decode(item, kind) for item in member]
    return decode(member, kind)


def encode(value: Any) -> dict[str, Any]:
    """The document of an object; what is as if not given is left out, unless it is required."""
    document: dict[str, Any] = {}
    for field in attrs.fields(type(value)):
        member = getattr(value, field.name)
        if field.metadata.get("required") or member != _default(field):
            document[field.metadata["name"]] = _encoded(member)
    return document


def _default(field: attrs.Attribute[Any]) -> Any:
    default: Any = field.default
    return default.factory() if isinstance(default, attrs.Factory) else default  # type: ignore[arg-type]


def _encoded(member: Any) -> Any:
    if attrs.has(type(member)):
        return encode(member)
    if isinstance(member, tuple):
        return [_encoded(item) for item in member]
    return dict(member) if isinstance(member, Mapping) else member
