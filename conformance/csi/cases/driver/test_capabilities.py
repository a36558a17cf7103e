"""What a driver advertises: well-formed, free of contradictions, and true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.csi import rpcs
from conformance.csi.capabilities import ask
from conformance.csi.common import every_rpc
from conformance.csi.needs import (
    CLOSED_RPC,
    CONTROLLER,
    CONTROLLER_SERVICE,
    EXPAND_VOLUME,
    GROUP_SERVICE,
    METADATA_SERVICE,
    NODE,
    NODE_EXPAND_VOLUME,
    without,
)
from conformance.csi.rpcs import Rpc
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import AnyOf
from conformance.engine.verdict import expect, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.kubelet import Driver
from refimpl.wire.status import Code, Refused

# CSI, comments of the capabilities: the first is advertised only beside one of the others.
_IMPLIED = {
    "controller:LIST_VOLUMES_PUBLISHED_NODES": ("controller:PUBLISH_UNPUBLISH_VOLUME",),
    "controller:CREATE_DELETE_SNAPSHOT": ("controller:CREATE_DELETE_VOLUME",),
    "controller:CLONE_VOLUME": ("controller:CREATE_DELETE_VOLUME",),
    "controller:LIST_VOLUME_HEALTH": ("controller:GET_VOLUME_HEALTH",),
    "expansion:ONLINE": ("controller:EXPAND_VOLUME", "node:EXPAND_VOLUME"),
    "expansion:OFFLINE": ("controller:EXPAND_VOLUME",),
}


def _status(driver: Driver, rpc: Rpc, request: Any) -> Code:
    try:
        rpcs.call(driver, rpc, request)
    except Refused as refusal:
        return refusal.code
    return Code.OK


_LISTS = ("ControllerGetCapabilities", "GroupControllerGetCapabilities")


def _expect_unimplemented(csi: CsiTarget, chosen: Iterable[Rpc], rule: str) -> None:
    """Calls each with a well-formed request, so that nothing else is a reason to refuse it. One
    that works is a service that nobody is told of; another code only misleads who calls it."""
    codes = {}
    for rpc in chosen:
        at = csi.nodes[0] if rpc.service == "Node" else csi.driver
        code = _status(at, rpc, every_rpc.plausible(csi, rpc))
        if code != Code.UNIMPLEMENTED:
            codes[rpc.name] = code.name
    # A list of capabilities with nothing in it is no service.
    works = [name for name, code in codes.items() if code == Code.OK.name and name not in _LISTS]
    expect(not works, rule, wanted="UNIMPLEMENTED", got=f"OK: {', '.join(works)}")
    should(not codes, rule, wanted="UNIMPLEMENTED", got=codes)


@case("CSI-PROTO-005", "CSI 1.13 Error Scheme", needs=[CLOSED_RPC])
def test_an_rpc_whose_capability_is_off_is_unimplemented(csi: CsiTarget) -> None:
    """UNIMPLEMENTED tells a caller not to come again; any other error is repeated for ever."""
    _expect_unimplemented(
        csi, rpcs.closed(csi.capabilities), "an RPC whose capability is off is UNIMPLEMENTED"
    )


@case("CSI-ID-006", "CSI 1.13 GetPluginCapabilities")
def test_plugin_capabilities_are_known_ones(csi: CsiTarget) -> None:
    """A capability that says nothing stands where one was meant: the caller never uses it."""
    entries = csi.identity.GetPluginCapabilities(pb.GetPluginCapabilitiesRequest()).capabilities
    names = [_capability(entry) for entry in entries]
    unknown = [name for name in names if name.endswith(":")]
    with together() as check:
        with check:
            expect(
                not unknown,
                "each plugin capability is a known service or a known way of expansion",
                wanted="no unknown one",
                got=[" ".join(str(entry).split()) or "{}" for entry in entries],
            )
        twice = sorted({name for name in names if names.count(name) > 1})
        with check:
            should(not twice, "no plugin capability is listed twice", wanted="each once", got=twice)


def _capability(entry: pb.PluginCapability) -> str:
    """`service:CONTROLLER_SERVICE`; nothing behind the colon for what is unknown."""
    kind = entry.WhichOneof("type") or ""
    enums: dict[str, Any] = {
        "service": pb.PluginCapability.Service.Type,
        "volume_expansion": pb.PluginCapability.VolumeExpansion.Type,
    }
    number = getattr(entry, kind).type if kind else 0
    known = number and number in enums[kind].values()
    return f"{kind}:{enums[kind].Name(number) if known else ''}"


@case("CSI-ID-009", "CSI 1.13 GetPluginCapabilities, ControllerGetCapabilities")
def test_capabilities_do_not_contradict_each_other(csi: CsiTarget) -> None:
    """A caller plans with what a capability implies, say to find the nodes of a volume in a list,
    or to expand a volume that is in use."""
    advertised = ask(csi.driver, csi.nodes[0])
    with together() as check:
        for name, others in _IMPLIED.items():
            with check:
                expect(
                    name not in advertised or any(other in advertised for other in others),
                    f"{name} is advertised only beside {' or '.join(others)}",
                    wanted=" or ".join(others),
                    got=", ".join(sorted(advertised.names)),
                )
        topology = "plugin:VOLUME_ACCESSIBILITY_CONSTRAINTS"
        with check:
            expect(
                advertised.topology is None or topology in advertised,
                f"NodeGetInfo tells accessible_topology only with {topology}",
                wanted=f"{topology}, or no accessible_topology",
                got=advertised.topology,
            )
        with check:
            should(
                "controller:PUBLISH_READONLY" not in advertised
                or "controller:PUBLISH_UNPUBLISH_VOLUME" in advertised,
                "PUBLISH_READONLY speaks of a field of ControllerPublishVolume",
                wanted="controller:PUBLISH_UNPUBLISH_VOLUME as well",
                got=", ".join(sorted(advertised.names)),
            )


@case(
    "CSI-ID-010",
    "CSI 1.13 GetPluginCapabilities",
    needs=[AnyOf((EXPAND_VOLUME, NODE_EXPAND_VOLUME))],
)
def test_a_driver_that_expands_says_when(csi: CsiTarget) -> None:
    """Without ONLINE or OFFLINE nobody can know whether a volume may be in use meanwhile."""
    entries = csi.identity.GetPluginCapabilities(pb.GetPluginCapabilitiesRequest()).capabilities
    expect(
        any(entry.HasField("volume_expansion") for entry in entries),
        "a driver with EXPAND_VOLUME advertises ONLINE or OFFLINE expansion",
        wanted="volume_expansion",
        got=[_capability(entry) for entry in entries],
    )


@case(
    "CSI-ID-011",
    "CSI 1.13 Error Scheme",
    needs=[without(CONTROLLER_SERVICE)],
)
def test_without_a_controller_its_rpcs_are_unimplemented(csi: CsiTarget) -> None:
    """The service that was not advertised must not seem to work for callers that try."""
    _expect_unimplemented(
        csi,
        rpcs.of("Controller"),
        "without CONTROLLER_SERVICE the RPCs of Controller are UNIMPLEMENTED",
    )


@case(
    "CSI-ID-012",
    "CSI 1.13 Error Scheme",
    needs=[
        AnyOf(
            (
                without(GROUP_SERVICE),
                without(METADATA_SERVICE),
            )
        )
    ],
)
def test_without_group_or_metadata_service_its_rpcs_are_unimplemented(csi: CsiTarget) -> None:
    """Backup programs try these services, and fall back to whole copies when told that there are
    none."""
    optional = {
        "GroupController": "plugin:GROUP_CONTROLLER_SERVICE",
        "SnapshotMetadata": "plugin:SNAPSHOT_METADATA_SERVICE",
    }
    with together() as check:
        for service, capability in optional.items():
            with check:
                if capability not in csi.capabilities:
                    rule = f"without {capability} the RPCs of {service} are UNIMPLEMENTED"
                    _expect_unimplemented(csi, rpcs.of(service), rule)


@case("CSI-ID-013", "Kubernetes 1.37 sidecars and kubelet", needs=[CONTROLLER, NODE])
def test_controller_and_node_agree_on_single_node_access_modes(csi: CsiTarget) -> None:
    """The sidecars choose the access mode of ReadWriteOnce by the controller's capability, kubelet
    by the node's: a volume would be made for one mode and published with another."""
    name = "SINGLE_NODE_MULTI_WRITER"
    sides = {side: f"{side}:{name}" in csi.capabilities for side in ("controller", "node")}
    expect(
        sides["controller"] == sides["node"],
        f"{name} is advertised by controller and node, or by neither",
        wanted="both or neither",
        got=sides,
    )
