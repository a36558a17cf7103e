"""The plugin's side answers always the same, and keeps what it is told."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import grpc
import pytest

from refimpl.registration.api import registration_pb2 as pb
from refimpl.registration.api import registration_pb2_grpc as stubs
from refimpl.registration.plugin import Notified, RegistrationService
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.server import Server


@pytest.fixture
def heard() -> list[Notified]:
    """What the callback got."""
    return []


@pytest.fixture
def service(heard: list[Notified]) -> RegistrationService:
    """A device plugin's."""
    versions = ("v1alpha1", "v1beta1")
    return RegistrationService(
        "DevicePlugin", "example.com/gpu", "/run/gpu.sock", versions, on_status=heard.append
    )


@pytest.fixture
def stub(service: RegistrationService, folder: Path) -> Iterator[stubs.RegistrationStub]:
    """What a kubelet calls."""
    endpoint = Endpoint.parse(folder / "reg.sock")
    with Server(service.services()) as server:
        server.start(endpoint)
        with Channel(endpoint) as channel:
            yield stubs.RegistrationStub(cast("grpc.Channel", channel))


def test_the_answer_is_the_same_each_time_and_at_the_same_time(
    stub: stubs.RegistrationStub,
) -> None:
    """REG-030: kubelet asks again with each attempt."""
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: stub.GetInfo(pb.InfoRequest()), range(16)))
    expected = pb.PluginInfo(
        type="DevicePlugin",
        name="example.com/gpu",
        endpoint="/run/gpu.sock",
        supported_versions=["v1alpha1", "v1beta1"],
    )
    assert answers == [expected] * 16


def test_what_kubelet_says_is_kept_and_told(
    stub: stubs.RegistrationStub, service: RegistrationService, heard: list[Notified]
) -> None:
    """REG-015: a plugin that was refused can end itself; the newest word counts."""
    assert not service.registered
    assert not service.wait_notified(1, 0)
    stub.NotifyRegistrationStatus(pb.RegistrationStatus(plugin_registered=True))
    assert service.registered
    stub.NotifyRegistrationStatus(pb.RegistrationStatus(error="version"))
    assert service.wait_notified(2)
    assert not service.registered
    assert list(service.notified) == heard == [Notified(True), Notified(False, "version")]
