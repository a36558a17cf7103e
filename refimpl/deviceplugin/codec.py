"""Between the messages of the device plugin API and the plain objects of `state`."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.state.models import (
    ContainerResponse,
    Device,
    DeviceNode,
    Mount,
    PluginOptions,
)

__all__ = ["Lists", "from_bytes", "options", "response", "to_bytes", "to_message"]


class Lists:
    """Reads the ListAndWatch messages of one stream; a device that stays the same is not made
    anew, so that the tenth list of ten thousand devices costs a quarter of the first."""

    def __init__(self) -> None:
        self._known: dict[bytes, Device] = {}

    def read(self, message: pb.ListAndWatchResponse) -> list[Device]:
        """The devices, in the order of the message; a topology without nodes is kept."""
        before, now, devices = self._known, dict[bytes, Device](), list[Device]()
        for sent in message.devices:
            key = sent.SerializeToString()
            device = before.get(key)
            if device is None:
                device = _device(sent)
            now[key] = device
            devices.append(device)
        self._known = now
        return devices


def _device(sent: pb.Device) -> Device:
    placed = sent.HasField("topology")
    nodes = tuple([node.ID for node in sent.topology.nodes]) if placed else None
    return Device(sent.ID, sent.health, nodes)


def options(message: pb.DevicePluginOptions) -> PluginOptions:
    """What a plugin says of itself."""
    return PluginOptions(message.pre_start_required, message.get_preferred_allocation_available)


def response(message: pb.ContainerAllocateResponse) -> ContainerResponse:
    """What Allocate answered for one container."""
    return ContainerResponse(
        envs=dict(message.envs),
        mounts=tuple(
            Mount(sent.container_path, sent.host_path, sent.read_only) for sent in message.mounts
        ),
        devices=tuple(
            DeviceNode(sent.container_path, sent.host_path, sent.permissions)
            for sent in message.devices
        ),
        annotations=dict(message.annotations),
        cdi_devices=tuple(sent.name for sent in message.cdi_devices),
    )


def to_message(answer: ContainerResponse) -> pb.ContainerAllocateResponse:
    """The reverse of `response`."""
    message = pb.ContainerAllocateResponse(envs=answer.envs, annotations=answer.annotations)
    for mount in answer.mounts:
        message.mounts.add(
            container_path=mount.container_path,
            host_path=mount.host_path,
            read_only=mount.read_only,
        )
    for device in answer.devices:
        message.devices.add(
            container_path=device.container_path,
            host_path=device.host_path,
            permissions=device.permissions,
        )
    for name in answer.cdi_devices:
        message.cdi_devices.add(name=name)
    return message


def to_bytes(answer: ContainerResponse) -> bytes:
    """As the checkpoint has it, before base64."""
    return to_message(answer).SerializeToString(deterministic=True)


def from_bytes(data: bytes) -> ContainerResponse:
    """The reverse of `to_bytes`; ValueError for bytes that are no such message."""
    try:
        return response(pb.ContainerAllocateResponse.FromString(data))
    except DecodeError as error:
        raise ValueError(f"{len(data)} bytes are no ContainerAllocateResponse") from error
