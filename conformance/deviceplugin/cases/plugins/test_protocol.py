"""How a plugin speaks gRPC: authorities, fields and methods that it does not know."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from conformance.deviceplugin.plugins.needs import ONE_DEVICE
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.refusals import survives
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, should, timeout, together
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.wire.status import Code

M = TypeVar("M", bound=Message)

# Fields 999 (a number) and 1000 (a text), which no message of this API has.
_UNKNOWN_FIELDS = b"\xb8\x3e\x01" + b"\xc2\x3e\x07refimpl"
_OPTIONS = "/v1beta1.DevicePlugin/GetDevicePluginOptions"
_HEALTH = "/grpc.health.v1.Health/Check"
_REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
_SERVING = b"\x08\x01"  # HealthCheckResponse.status
_LIST_SERVICES = b"\x3a\x00"  # ServerReflectionRequest.list_services


@case("DP-PLG-076", "Kubernetes 1.37 kubelet, dial")
def test_the_authority_of_kubelet_is_accepted(plugin: DevicePluginUnderTest) -> None:
    """Kubelet calls itself localhost. Releases of before sent the path of the socket, which strict
    HTTP/2 servers refuse: worth knowing where old nodes are still in use."""
    path = plugin.socket.path
    error = _called_as(plugin, "localhost")
    with together() as check:
        with check:
            expect(
                not error,
                "a call with the authority localhost is answered",
                wanted="an answer",
                got=error,
            )
        error = _called_as(plugin, path)
        with check:
            should(
                not error,
                "a call with the path of the socket as authority is answered, too",
                wanted=f"an answer to {path}",
                got=error,
            )


def _called_as(plugin: DevicePluginUnderTest, authority: str) -> str:
    """What became of a call, empty if it was answered."""
    options = [("grpc.default_authority", authority), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(plugin.socket.target, options=options) as channel:
        call: Callable[..., bytes] = channel.unary_unary(_OPTIONS)
        try:
            call(b"", timeout=timeout(5.0))
        except grpc.RpcError as error:
            return str(error)
    return ""


@case("DP-PLG-077", "device plugin v1beta1 (proto3: unknown fields)", needs=[ONE_DEVICE])
def test_fields_that_a_plugin_does_not_know_change_nothing(plugin: DevicePluginUnderTest) -> None:
    """A newer kubelet fills in what a later version of the API has."""
    id = plugin.ids()[0]
    container = _extended(pb.ContainerAllocateRequest(devices_ids=[id]))
    allocation = pb.AllocateRequest(container_requests=[container])
    answers = plugin.calls.stub.Allocate(_extended(allocation), timeout=10.0).container_responses
    with together() as check:
        with check:
            expect(
                len(answers) == 1,
                "Allocate with unknown fields is answered as without them",
                wanted="one answer",
                got=answers,
            )
        plain, extended = (
            plugin.calls.options(),
            plugin.calls.stub.GetDevicePluginOptions(_extended(pb.Empty())),
        )
        with check:
            expect(
                plain == extended,
                "options are the same as without them",
                wanted=plain,
                got=extended,
            )
        if plain.get_preferred_allocation_available:
            wish = pb.ContainerPreferredAllocationRequest(
                available_deviceIDs=[id], allocation_size=1
            )
            request = pb.PreferredAllocationRequest(container_requests=[_extended(wish)])
            with check:
                plugin.calls.stub.GetPreferredAllocation(_extended(request), timeout=10.0)
        if plain.pre_start_required:
            started = pb.PreStartContainerRequest(devices_ids=[id])
            with check:
                plugin.calls.stub.PreStartContainer(_extended(started), timeout=30.0)


def _extended(message: M) -> M:
    return type(message).FromString(message.SerializeToString() + _UNKNOWN_FIELDS)


@case("DP-PLG-078", "gRPC health checking and reflection")
def test_health_and_reflection_are_served_or_not_there(plugin: DevicePluginUnderTest) -> None:
    """Both are a plugin's own choice. What is there has to work: probes restart a plugin that says
    it is not serving."""
    with together() as check:
        with check:
            health = expect_status(
                lambda: plugin.calls.channel.unary_unary(_HEALTH)(b""),
                {Code.OK, Code.UNIMPLEMENTED},
                "grpc.health.v1 is served or UNIMPLEMENTED",
            )
            rule = "who has grpc.health.v1 says SERVING"
            expect(health in (None, _SERVING), rule, wanted=_SERVING, got=health)
        expect_status(
            lambda: list(plugin.calls.channel.stream_stream(_REFLECTION)(iter([_LIST_SERVICES]))),
            {Code.OK, Code.UNIMPLEMENTED},
            "grpc.reflection.v1 is served or UNIMPLEMENTED",
        )


@case("DP-PLG-079", "device plugin v1beta1 (gRPC: unknown methods)")
def test_an_unknown_method_is_unimplemented(plugin: DevicePluginUnderTest) -> None:
    """A newer kubelet tries what a later version brings, and does without where it is told so."""
    with together() as check:
        for service in ("v1beta1.DevicePlugin", "v2.DevicePlugin"):
            call = plugin.calls.channel.unary_unary(f"/{service}/NoSuchMethod")
            with check:
                expect_status(
                    partial(call, b""),
                    {Code.UNIMPLEMENTED},
                    f"a method that {service} does not have is UNIMPLEMENTED",
                )
        with check:
            survives(plugin, "a call of an unknown method")
