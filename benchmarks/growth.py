"""How the cost of a call grows with the number of volumes: the services called without a wire."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel

T = TypeVar("T")
PAGE, REPEATS, BATCH = 100, 7, 100
_CAPABILITY = pb.VolumeCapability(
    mount=pb.VolumeCapability.MountVolume(),
    access_mode=pb.VolumeCapability.AccessMode(
        mode=pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
    ),
)


class Filled:
    """A driver over its socket with a given number of volumes."""

    def __init__(self, driver: Driver) -> None:
        self.controller = driver.controller
        self.count = 0

    def create(self) -> str:
        """One more volume; returns its id."""
        self.count += 1
        request = pb.CreateVolumeRequest(
            name=f"v{self.count}",
            capacity_range=pb.CapacityRange(required_bytes=1 << 20),
            volume_capabilities=[_CAPABILITY],
        )
        return self.controller.CreateVolume(request).volume.volume_id

    def publish(self, volume: str) -> None:
        """To the first node."""
        self.controller.ControllerPublishVolume(
            pb.ControllerPublishVolumeRequest(
                volume_id=volume, node_id="node-0", volume_capability=_CAPABILITY
            )
        )

    def unpublish(self, volume: str) -> None:
        """From the first node."""
        self.controller.ControllerUnpublishVolume(
            pb.ControllerUnpublishVolumeRequest(volume_id=volume, node_id="node-0")
        )

    def delete(self, volume: str) -> None:
        """One volume less."""
        self.controller.DeleteVolume(pb.DeleteVolumeRequest(volume_id=volume))

    def page(self, token: str) -> str:
        """One page from a token; returns the next."""
        request = pb.ListVolumesRequest(max_entries=PAGE, starting_token=token)
        return self.controller.ListVolumes(request).next_token


def measure(sizes: Sequence[int]) -> dict[str, dict[int, float]]:
    """Microseconds a call over the socket, the best of several batches, by call and size."""
    costs: dict[str, dict[int, float]] = {}
    fake = FakeDriver(storage="memory", settings={"attach_limit": 0})
    with fake, Channel(fake.endpoint) as channel:
        filled = Filled(Driver.over(channel))
        for size in sizes:
            while filled.count < size:
                filled.create()
            for name, cost in _costs(filled).items():
                costs.setdefault(name, {})[size] = cost
    return costs


def _costs(filled: Filled) -> dict[str, float]:
    batches: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        volumes = _time(batches, "CreateVolume", [()] * BATCH, filled.create)
        arguments = [(volume,) for volume in volumes]
        _time(batches, "ControllerPublishVolume", arguments, filled.publish)
        _time(batches, "ControllerUnpublishVolume", arguments, filled.unpublish)
        _time(batches, "DeleteVolume", arguments, filled.delete)
        filled.count -= len(volumes)
        token = filled.page("") if filled.count > 2 * PAGE else ""
        _time(batches, f"ListVolumes, page of {PAGE}", [(token,)] * BATCH, filled.page)
    return {name: min(times) for name, times in batches.items()}


def _time(
    batches: dict[str, list[float]],
    name: str,
    arguments: Sequence[tuple[str, ...]],
    call: Callable[..., T],
) -> list[T]:
    began = time.perf_counter()
    results = [call(*words) for words in arguments]
    batches.setdefault(name, []).append((time.perf_counter() - began) / len(arguments) * 1e6)
    return results
