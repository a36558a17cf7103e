"""Claims of pods, as the API server has them and as a driver prepares them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import grpc
import pytest

from conformance.kubelet.claims import claim_status, claims_of
from conformance.kubelet.drivers import Drivers
from refimpl.dra.api import dra_v1_pb2 as pb
from refimpl.dra.api.dra_v1_pb2_grpc import DRAPluginStub
from refimpl.node.pods import Amounts, Claim, ContainerSpec, PodSpec
from refimpl.registration.api import registration_pb2 as reg
from refimpl.registration.api.registration_pb2_grpc import RegistrationStub
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint

CLAIM = Claim("claim", "d.example.com", "pool", "gpu-0", ("d.example.com/gpu=0",), "share")
POD = PodSpec(
    "p",
    "uid",
    app=(
        ContainerSpec("one", claims=(CLAIM,)),
        ContainerSpec("two", claims=(CLAIM,), amounts=Amounts(1, 64)),
    ),
)


def test_a_claim_that_two_containers_name_is_one_object() -> None:
    """Allocated as the scheduler does it, and reserved for the pod."""
    [claim] = claims_of(POD)
    assert claim["metadata"] == {"name": "claim", "namespace": "default"}
    [result] = claim["status"]["allocation"]["devices"]["results"]
    assert result == {
        "request": "device",
        "driver": "d.example.com",
        "pool": "pool",
        "device": "gpu-0",
        "shareID": "share",
    }
    reserved = claim["status"]["reservedFor"]
    assert reserved == [{"resource": "pods", "name": "p", "uid": "uid"}]
    assert claim_status(POD) == {}


def test_a_resource_that_a_claim_backs_has_one_without_devices() -> None:
    """Told in the status of the pod."""
    backed = PodSpec("p", "uid", app=(ContainerSpec(claimed=frozenset({"a.b/c"})),))
    [claim] = claims_of(backed)
    assert claim["status"]["allocation"]["devices"]["results"] == []
    status = claim_status(backed)["extendedResourceClaimStatus"]
    assert status["resourceClaimName"] == claim["metadata"]["name"]
    assert [each["resourceName"] for each in status["requestMappings"]] == ["a.b/c"]


def test_the_manifest_names_claims_and_amounts() -> None:
    """Once for the pod, and for each container that uses them."""
    spec = POD.manifest("node")["spec"]
    assert spec["resourceClaims"] == [{"name": "claim", "resourceClaimName": "claim"}]
    one, two = (each["resources"] for each in spec["containers"])
    assert one == {"claims": [{"name": "claim"}]}
    amounts = {"cpu": "1", "memory": "64Mi"}
    assert two == {"claims": [{"name": "claim"}], "limits": amounts, "requests": amounts}


@pytest.fixture
def registry() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kub-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_a_driver_registers_and_prepares_what_the_claim_says(registry: Path) -> None:
    """And takes back whatever it is asked to."""
    drivers = Drivers()
    drivers.serve(registry, POD)
    [socket] = registry.iterdir()
    with Channel(Endpoint.parse(socket)) as channel:
        wire = cast("grpc.Channel", channel)
        info = RegistrationStub(wire).GetInfo(reg.InfoRequest())
        assert (info.type, info.name, info.endpoint) == ("DRAPlugin", "d.example.com", "")
        claims = [pb.Claim(namespace="default", name="claim", uid="u")]
        stub = DRAPluginStub(wire)
        prepared = stub.NodePrepareResources(pb.NodePrepareResourcesRequest(claims=claims))
        [device] = prepared.claims["u"].devices
        assert (device.pool_name, device.device_name) == ("pool", "gpu-0")
        assert list(device.cdi_device_ids) == ["d.example.com/gpu=0"]
        assert device.share_id == "share"
        gone = stub.NodeUnprepareResources(pb.NodeUnprepareResourcesRequest(claims=claims))
        assert gone.claims["u"].error == ""
    drivers.close()
    assert not socket.exists()
