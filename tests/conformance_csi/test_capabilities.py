"""What a driver advertises."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from conformance.csi.capabilities import Capabilities, ask
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.kubelet import Driver
from refimpl.wire.status import Code, Refused


class Stub:
    """A service that gives what it was made with, and refuses everything else."""

    def __init__(self, **replies: Any) -> None:
        self._replies = replies

    def __getattr__(self, name: str) -> Any:
        def call(_: object) -> Any:
            if name not in self._replies:
                self._refuse(name)
            return self._replies[name]

        return call

    @staticmethod
    def _refuse(name: str) -> NoReturn:
        raise Refused(Code.UNIMPLEMENTED, name)


def plugin(*services: str, online: bool = False) -> Stub:
    """An Identity service."""
    reply = pb.GetPluginCapabilitiesResponse()
    for name in services:
        kind = pb.PluginCapability.Service.Type.Value(name)
        reply.capabilities.add().service.type = kind
    if online:
        reply.capabilities.add().volume_expansion.type = pb.PluginCapability.VolumeExpansion.ONLINE
    info = pb.GetPluginInfoResponse(name="driver.example", vendor_version="1.2")
    return Stub(GetPluginInfo=info, GetPluginCapabilities=reply)


def rpcs(reply: Any, *numbers: int) -> Any:
    """An answer that lists RPC capabilities by number."""
    for number in numbers:
        reply.capabilities.add().rpc.type = number
    return reply


def driver(**services: Any) -> Driver:
    """A driver of stubs; what is not given refuses."""
    names = ("identity", "controller", "group", "metadata", "node")
    return cast("Driver", SimpleNamespace(**{name: services.get(name, Stub()) for name in names}))


def test_a_driver_that_tells_nothing_offers_nothing() -> None:
    """Refusals count as not offered, whatever their code."""
    assert ask(driver(), driver()) == Capabilities()


def test_each_service_is_asked_for_its_own() -> None:
    """Names carry the service; unknown numbers are kept as numbers."""
    identity = plugin("CONTROLLER_SERVICE", "VOLUME_ACCESSIBILITY_CONSTRAINTS", online=True)
    controller = Stub(
        ControllerGetCapabilities=rpcs(pb.ControllerGetCapabilitiesResponse(), 1, 4, 99)
    )
    node = Stub(
        NodeGetCapabilities=rpcs(pb.NodeGetCapabilitiesResponse(), 1),
        NodeGetInfo=pb.NodeGetInfoResponse(
            node_id="n",
            max_volumes_per_node=7,
            accessible_topology=pb.Topology(segments={"zone": "a"}),
        ),
    )
    advertised = ask(driver(identity=identity, controller=controller), driver(node=node))
    assert advertised.names == {
        "plugin:CONTROLLER_SERVICE",
        "plugin:VOLUME_ACCESSIBILITY_CONSTRAINTS",
        "expansion:ONLINE",
        "controller:CREATE_DELETE_VOLUME",
        f"controller:{pb.ControllerServiceCapability.RPC.Type.Name(4)}",
        "controller:99",
        "node:STAGE_UNSTAGE_VOLUME",
    }
    assert advertised.services == {"controller", "node"}
    assert (advertised.name, advertised.version) == ("driver.example", "1.2")
    assert (advertised.node_id, advertised.max_volumes, advertised.topology) == (
        "n",
        7,
        {"zone": "a"},
    )


def test_a_controller_that_is_not_advertised_is_not_asked() -> None:
    """Its capabilities would promise what may not be called."""
    controller = Stub(ControllerGetCapabilities=rpcs(pb.ControllerGetCapabilitiesResponse(), 1))
    advertised = ask(driver(identity=plugin(), controller=controller), driver())
    assert advertised.services == frozenset()
    assert "controller:CREATE_DELETE_VOLUME" not in advertised


def test_a_node_without_a_place_has_none() -> None:
    """An empty place is a place, no place is None."""
    able = rpcs(pb.NodeGetCapabilitiesResponse())
    plain = Stub(NodeGetCapabilities=able, NodeGetInfo=pb.NodeGetInfoResponse(node_id="n"))
    assert ask(driver(), driver(node=plain)).topology is None
    empty = pb.NodeGetInfoResponse(node_id="n", accessible_topology=pb.Topology())
    advertised = ask(driver(), driver(node=Stub(NodeGetCapabilities=able, NodeGetInfo=empty)))
    assert advertised.topology == {}


@pytest.mark.parametrize(
    ("capabilities", "revision"),
    [
        ((), "1.13"),
        (("controller:VOLUME_CONDITION",), "1.12"),
        (("node:VOLUME_CONDITION", "node:GET_VOLUME_HEALTH"), "1.13"),
        (("controller:LIST_VOLUME_HEALTH",), "1.13"),
    ],
)
def test_the_revision_is_guessed_by_what_only_one_has(
    capabilities: tuple[str, ...], revision: str
) -> None:
    """No RPC tells it."""
    assert Capabilities(names=frozenset(capabilities)).guess_revision() == revision
