"""The RPCs of CSI by reflection."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.csi import rpcs
from conformance.csi.capabilities import Capabilities
from refimpl.csi.api import csi_pb2 as pb


def advertised(
    *capabilities: str, services: tuple[str, ...] = ("controller", "group", "node")
) -> Capabilities:
    """What a driver advertises."""
    return Capabilities(names=frozenset(capabilities), services=frozenset(services))


def test_every_rpc_of_the_schema_is_there_once() -> None:
    """A new one needs no line here, but may need one in the table of capabilities."""
    names = [rpc.name for rpc in rpcs.every()]
    services = pb.DESCRIPTOR.services_by_name.values()
    assert len(names) == len(set(names)) == sum(len(service.methods) for service in services)
    assert {rpc.service for rpc in rpcs.of("Node", "Identity")} == {"Node", "Identity"}
    assert set(rpcs._OPENED_BY) <= set(names)


def test_an_rpc_knows_its_types() -> None:
    """And the name under which it travels."""
    rpc = rpcs.named("CreateVolume")
    assert rpc.method == "/csi.v1.Controller/CreateVolume"
    assert (rpc.request, rpc.reply) == (pb.CreateVolumeRequest, pb.CreateVolumeResponse)
    assert not rpc.streams
    assert rpcs.named("GetMetadataDelta").streams


@pytest.mark.parametrize(
    ("name", "capabilities", "opened"),
    [
        ("Probe", advertised(services=()), True),
        ("CreateVolume", advertised(), False),
        ("CreateVolume", advertised("controller:CREATE_DELETE_VOLUME"), True),
        ("CreateVolume", advertised("controller:CREATE_DELETE_VOLUME", services=("node",)), False),
        ("NodeGetVolumeStats", advertised("node:VOLUME_CONDITION"), True),
        ("NodePublishVolume", advertised(), True),
        ("NodePublishVolume", advertised(services=()), False),
        ("GetMetadataDelta", advertised(), False),
        ("GetMetadataDelta", advertised("plugin:SNAPSHOT_METADATA_SERVICE"), True),
    ],
)
def test_an_rpc_is_opened_by_its_service_and_a_capability(
    name: str, capabilities: Capabilities, opened: bool
) -> None:
    """One of several is enough; what has none comes with its service."""
    assert rpcs.named(name).opened(capabilities) == opened


def test_what_is_free_without_a_capability_is_due_with_it() -> None:
    """NodeGetInfo: due where volumes are attached, allowed otherwise."""
    info = rpcs.named("NodeGetInfo")
    assert info.opened(advertised())
    assert not info.due(advertised())
    assert info.due(advertised("controller:PUBLISH_UNPUBLISH_VOLUME"))


def test_a_stream_is_read_to_its_end(csi: Any) -> None:
    """As a list of its replies; every RPC can be called by its description."""
    driver = csi.driver
    block = csi.requests.volume(capabilities=[csi.requests.capability(block=True)])
    snapshot = csi.steps.snapshot(csi.steps.volume(block))
    request = pb.GetMetadataAllocatedRequest(snapshot_id=snapshot.snapshot_id)
    assert isinstance(rpcs.call(driver, rpcs.named("GetMetadataAllocated"), request), list)
    answer = rpcs.call(driver, rpcs.named("GetPluginInfo"), pb.GetPluginInfoRequest())
    assert answer.name
