"""Services on a state of their own, called without a wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.services.controller import ControllerService
from refimpl.csi.services.group import GroupControllerService
from refimpl.csi.services.identity import IdentityService
from refimpl.csi.services.metadata import SnapshotMetadataService
from refimpl.csi.state import DriverState
from refimpl.csi.state.models import AccessMode
from refimpl.csi.state.ports import numbered
from refimpl.csi.state.settings import DriverSettings


@attrs.define
class Call:
    """What a service sees of a call."""

    gone_after: int = 1_000_000
    asked: int = 0

    def cancelled(self) -> bool:
        self.asked += 1
        return self.asked > self.gone_after


@attrs.define(slots=False)
class Served:
    """The services of one driver, and the crash points they passed."""

    state: DriverState
    points: list[str] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.identity = IdentityService(self.state)
        self.controller = ControllerService(self.state, self.points.append)
        self.group = GroupControllerService(self.state, self.points.append)
        self.metadata = SnapshotMetadataService(self.state)

    def volume(self, name: str = "a", *, block: bool = False, **fields: Any) -> pb.Volume:
        """A volume of 1 MiB that exists."""
        request = pb.CreateVolumeRequest(
            name=name, volume_capabilities=[capability(block=block)], **fields
        )
        if "capacity_range" not in fields:
            request.capacity_range.required_bytes = 1 << 20
        return self.controller.CreateVolume(request, Call()).volume

    def snapshot(self, volume: pb.Volume, name: str = "s") -> pb.Snapshot:
        """A snapshot that exists."""
        request = pb.CreateSnapshotRequest(source_volume_id=volume.volume_id, name=name)
        return self.controller.CreateSnapshot(request, Call()).snapshot


def capability(*, block: bool = False) -> pb.VolumeCapability:
    capability = pb.VolumeCapability()
    (capability.block if block else capability.mount).SetInParent()
    capability.access_mode.mode = int(AccessMode.SINGLE_NODE_WRITER)
    return capability


@pytest.fixture
def serve() -> Callable[..., Served]:
    """`serve(without=("X",), granule=4096)`: the services of a driver with those settings."""

    def served(*, without: tuple[str, ...] = (), storage: Any = None, **values: Any) -> Served:
        settings = DriverSettings(revision=values.pop("revision", "1.13")).without(*without)
        state = DriverState(
            attrs.evolve(settings, **values),
            clock=lambda: 1000.0,
            ids=numbered(),
            storage=storage,
            nodes=2,
        )
        return Served(state)

    return served


@pytest.fixture
def served(serve: Callable[..., Served]) -> Served:
    """The services of the default driver."""
    return serve()


@pytest.fixture
def call() -> Call:
    """A call nobody gives up."""
    return Call()


@pytest.fixture
def mount() -> pb.VolumeCapability:
    """SINGLE_NODE_WRITER with a file system."""
    return capability()
