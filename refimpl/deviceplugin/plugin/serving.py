"""What a fake plugin answers: the DevicePlugin service over an inventory, in a persona's manner.

`lying`: an id is listed twice with opposite health and one health is misspelt, preferred devices
were never offered, Allocate knows every id and answers for one container too many. `dying`: it
ends in Allocate, after the effect and before the answer.
"""
# RPC methods keep the names of the protocol.
# ruff: noqa: N802

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence

from attrs import define, field

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.plugin.inventory import HEALTHY, UNHEALTHY, Device, Inventory
from refimpl.deviceplugin.plugin.personas import Persona
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

__all__ = [
    "HOST_DEVICE",
    "AllocationLog",
    "DevicePluginService",
    "container_path",
    "options_of",
    "preferred",
    "variable",
]

# On every node, so that what is answered can be mounted and opened.
HOST_DEVICE, HOST_FOLDER = "/dev/null", "/usr/share"


@define
class AllocationLog:
    """The ids of each container that Allocate and PreStartContainer were about, in order."""

    allocated: list[tuple[str, ...]] = field(factory=list)
    started: list[tuple[str, ...]] = field(factory=list)


class DevicePluginService:
    """The service of one resource, for one server.

    `record` may be shared with others; `point` is told the crash points, `streaming` of the
    beginning (1) and the end (-1) of each ListAndWatch, `died` of a persona's end.
    """

    def __init__(
        self,
        resource: str,
        persona: Persona,
        inventory: Inventory,
        record: AllocationLog,
        *,
        point: Callable[[str], object] = lambda _: None,
        streaming: Callable[[int], object] = lambda _: None,
        died: Callable[[], object] = lambda: None,
    ) -> None:
        self.resource, self.persona, self.inventory = resource, persona, inventory
        self.record = record
        self._point, self._streaming, self._died = point, streaming, died

    def GetDevicePluginOptions(self, _request: pb.Empty, call: Call) -> pb.DevicePluginOptions:
        """The same each time."""
        self._pace(call)
        return options_of(self.persona)

    def ListAndWatch(self, _request: pb.Empty, call: Call) -> Iterator[pb.ListAndWatchResponse]:
        """The whole list at once, and again with each change, until the caller or we end it."""
        call.on_cancel(self.inventory.wake)
        self._streaming(1)
        try:
            self._pace(call)
            version = -1
            while (change := self.inventory.changed(version, call.cancelled)) is not None:
                version, devices = change
                yield pb.ListAndWatchResponse(devices=self._listed(devices))
        finally:
            self._streaming(-1)

    def GetPreferredAllocation(
        self, request: pb.PreferredAllocationRequest, call: Call
    ) -> pb.PreferredAllocationResponse:
        """For each container devices that share a NUMA node, as far as there are."""
        if not self.persona.preferred:
            raise Refused(Code.UNIMPLEMENTED, f"{self.resource} has no preference: see its options")
        self._pace(call)
        reply = pb.PreferredAllocationResponse()
        for wanted in request.container_requests:
            reply.container_responses.add(deviceIDs=self._preferred(wanted))
        return reply

    def Allocate(self, request: pb.AllocateRequest, call: Call) -> pb.AllocateResponse:
        """One answer a container; NOT_FOUND and FAILED_PRECONDITION for ids that are unfit."""
        # A list without one of its devices must not overtake the answer: kubelet 1.37.2 dies of it.
        self.inventory.allocating()
        call.on_end(self.inventory.answered)
        containers = [tuple(dict.fromkeys(one.devices_ids)) for one in request.container_requests]
        if not self.persona.lies:
            for ids in containers:
                self._judge(ids)
        self._pace(call)
        self._point("Allocate.before_effect")
        self.record.allocated += containers
        self._point("Allocate.after_effect")
        if self.persona.dies:
            self._die(call)
        answers = [self._answer(ids) for ids in [*containers, *([()] if self.persona.lies else [])]]
        return pb.AllocateResponse(container_responses=answers)

    def PreStartContainer(
        self, request: pb.PreStartContainerRequest, call: Call
    ) -> pb.PreStartContainerResponse:
        """Takes note; unknown ids are NOT_FOUND."""
        self._pace(call)
        ids = tuple(request.devices_ids)
        for id in ids:
            self._known(id)
        self.record.started.append(ids)
        return pb.PreStartContainerResponse()

    # Devices

    def _listed(self, devices: Sequence[Device]) -> list[pb.Device]:
        listed = [_message(device) for device in devices]
        if self.persona.lies and listed:
            listed[-1].health = listed[-1].health.lower()
            first = listed[0]
            opposite = UNHEALTHY if first.health == HEALTHY else HEALTHY
            listed.append(pb.Device(ID=first.ID, health=opposite))
        return listed

    def _judge(self, ids: Sequence[str]) -> None:
        for id in ids:
            health = self._known(id).health
            if health != HEALTHY:
                text = f"device {id!r} of {self.resource} is {health}: choose a healthy one"
                raise Refused(Code.FAILED_PRECONDITION, text)

    def _known(self, id: str) -> Device:
        try:
            return self.inventory.find(id)
        except LookupError:
            text = f"device {id!r} is none of {self.resource}: choose from the newest list"
            raise Refused(Code.NOT_FOUND, text) from None

    def _preferred(self, wanted: pb.ContainerPreferredAllocationRequest) -> list[str]:
        if self.persona.lies:
            return [f"never-offered-{number}" for number in range(wanted.allocation_size + 1)]
        nodes = {device.id: device.nodes or () for device in self.inventory.devices}
        available, must = wanted.available_deviceIDs, wanted.must_include_deviceIDs
        return preferred(list(available), list(must), wanted.allocation_size, nodes)

    # Manners

    def _answer(self, ids: Sequence[str]) -> pb.ContainerAllocateResponse:
        joined, stem = ",".join(ids), self.resource.rpartition("/")[2]
        answer = pb.ContainerAllocateResponse(envs={variable(self.resource): joined})
        gives = self.persona.gives if ids else frozenset()
        if "devices" in gives:
            for id in ids:
                where = container_path(id)
                answer.devices.add(container_path=where, host_path=HOST_DEVICE, permissions="rw")
        if "mounts" in gives:
            answer.mounts.add(container_path=f"/mnt/{stem}", host_path=HOST_FOLDER, read_only=True)
        if "annotations" in gives:
            answer.annotations[self.resource] = joined
        if "cdi" in gives:
            for id in ids:
                answer.cdi_devices.add(name=f"{self.resource}={id}")
        return answer

    def _pace(self, call: Call) -> None:
        if self.persona.delay_s:
            _wait(call, self.persona.delay_s)

    def _die(self, call: Call) -> None:
        self._died()
        _wait(call, None)
        raise call.ending()


def options_of(persona: Persona) -> pb.DevicePluginOptions:
    """What GetDevicePluginOptions says, and Register as well."""
    return pb.DevicePluginOptions(
        pre_start_required=persona.pre_start,
        get_preferred_allocation_available=persona.preferred,
    )


def preferred(
    available: list[str], must: list[str], size: int, nodes: dict[str, tuple[int, ...]]
) -> list[str]:
    """`size` of the available ids, the musts among them, from as few NUMA nodes as can be.

    The order in which ids are given does not matter. Raises Refused for what cannot be answered.
    """
    if not set(must) <= set(available) or not len(set(must)) <= max(size, 0) <= len(set(available)):
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"{size} of {len(available)} devices with {len(must)} among them cannot be chosen:"
            " must_include is part of available, and neither larger nor smaller sets fit",
        )
    chosen = sorted(set(must))
    groups: dict[tuple[int, ...], list[str]] = {}
    for id in sorted(set(available) - set(must), key=_natural):
        groups.setdefault(nodes.get(id, ()), []).append(id)
    close = {node for id in chosen for node in nodes.get(id, ())}
    missing = size - len(chosen)

    def rank(group: tuple[int, ...]) -> tuple[bool, bool, int, tuple[int, ...]]:
        free = len(groups[group])
        # Where musts are; then the smallest node that is enough, or the largest that is not.
        return not close & set(group), free < missing, free if free >= missing else -free, group

    rest = [id for group in sorted(groups, key=rank) for id in groups[group]]
    return chosen + rest[:missing]


def _wait(call: Call, seconds: float | None) -> None:
    """Until the time is up, or the caller is gone or the server stops."""
    gone = threading.Event()
    call.on_cancel(gone.set)
    with call.waiting():
        if gone.wait(seconds):
            raise call.ending()


def _message(device: Device) -> pb.Device:
    message = pb.Device(ID=device.id, health=device.health)
    if device.nodes is not None:
        message.topology.SetInParent()
        for node in device.nodes:
            message.topology.nodes.add(ID=node)
    return message


def container_path(id: str) -> str:
    """Where a device is in the container."""
    return f"/dev/{re.sub('[^A-Za-z0-9_.-]', '_', id)}"


def variable(resource: str) -> str:
    """The environment variable that has the ids: REFIMPL_EXAMPLE_COM_GPU."""
    return "REFIMPL_" + re.sub("[^A-Z0-9]", "_", resource.upper())


def _natural(id: str) -> list[tuple[int, str]]:
    """gpu-2 before gpu-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", id)]
