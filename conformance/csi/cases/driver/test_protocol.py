"""How a driver speaks gRPC: unknown methods and fields, connections, deadlines, garbage."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import Message

from conformance.csi import rpcs
from conformance.csi.common import sockets
from conformance.csi.needs import CREATE_DELETE_VOLUME
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.targets.process import measures_of
from conformance.engine.verdict import eventually, expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.api import csi_pb2_grpc
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Code, Refused

M = TypeVar("M", bound=Message)

# Fields 999 (a number) and 1000 (a text), which no message of CSI has.
_UNKNOWN_FIELDS = b"\xb8\x3e\x01" + b"\xc2\x3e\x07refimpl"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"  # RFC 9113, 3.4
_GARBAGE = {
    "random bytes": bytes(range(256)),
    "HTTP/1.1": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03",
    "half of HTTP/2's preface": _PREFACE[:11],
    "a frame of 16 MiB after the preface": _PREFACE + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",
}


@case("CSI-PROTO-006", "robustness: methods of a later specification")
def test_an_unknown_method_is_unimplemented(csi: CsiTarget) -> None:
    """A newer caller tries what a later specification brings, and falls back when it is told so."""
    with together() as check:
        for service in dict.fromkeys(
            rpc.service for rpc in rpcs.every() if rpc.served(csi.capabilities)
        ):
            with check:
                at = csi.node_endpoints[0] if service == "Node" else csi.endpoint
                call = csi.channel(at).unary_unary(f"/csi.v1.{service}/NoSuchMethod")
                expect_status(
                    lambda call=call: call(b""),  # type: ignore[misc]
                    {Code.UNIMPLEMENTED},
                    f"a method that {service} does not have is UNIMPLEMENTED",
                )


@case("CSI-PROTO-010", "CSI 1.13 Connectivity (proto3: unknown fields)")
def test_unknown_fields_change_nothing(csi: CsiTarget) -> None:
    """A caller built against a later specification sends fields this driver has never heard of."""
    with together() as check:
        for name in (
            "GetPluginInfo",
            "GetPluginCapabilities",
            "ControllerGetCapabilities",
            "NodeGetCapabilities",
        ):
            with check:
                rpc = rpcs.named(name)
                if rpc.opened(csi.capabilities):
                    plain = csi.call(rpc.method, rpc.request())
                    extended = csi.call(rpc.method, _extended(rpc.request()))
                    expect(
                        extended == plain,
                        f"{name} answers the same when the request has fields it does not know",
                        wanted=plain,
                        got=extended,
                    )
        if rpcs.named("CreateVolume").opened(csi.capabilities):
            request, volume = csi.shared.request(), csi.shared.volume()
            del request.volume_capabilities[:]
            request.volume_capabilities.append(_extended(csi.requests.capability()))
            again = csi.steps.volume(_extended(request))
            with check:
                expect(
                    again == volume,
                    "CreateVolume takes a request with unknown fields for the one without them",
                    wanted=volume,
                    got=again,
                )


def _extended(message: M) -> M:
    return type(message).FromString(message.SerializeToString() + _UNKNOWN_FIELDS)


@case("CSI-PROTO-011", "robustness: kubelet connects anew for every call")
def test_connections_that_come_and_go_leave_nothing_behind(csi: CsiTarget) -> None:
    """Kubelet opens a connection for each of its calls and liveness probes one for each probe: a
    driver that keeps something of each runs out of descriptors after some days."""
    _probe_over_own_connection(csi.endpoint)
    before = _descriptors(csi.endpoint)
    for number in range(12):
        sockets.connect(csi.endpoint).close()
        if number % 2 == 0:
            _probe_over_own_connection(csi.endpoint)
    csi.identity.Probe(pb.ProbeRequest())
    if before is not None:
        eventually(
            lambda: (_descriptors(csi.endpoint) or 0) < before + 5,
            5.0,
            f"18 connections that were closed again leave the driver with the {before} open files "
            "that it had",
        )


def _descriptors(endpoint: Endpoint) -> int | None:
    """How many files the process that listens there has open; None where that cannot be seen."""
    pid = sockets.listener(endpoint)
    measures = measures_of(pid) if pid else None
    return measures.fds if measures else None


def _probe_over_own_connection(endpoint: Endpoint) -> None:
    with Channel(endpoint) as channel:
        csi_pb2_grpc.IdentityStub(channel).Probe(pb.ProbeRequest())


@case("CSI-PROTO-012", "CSI 1.13 Timeouts", needs=[CREATE_DELETE_VOLUME])
def test_a_call_that_timed_out_can_be_repeated(csi: CsiTarget) -> None:
    """The sidecars give up after some seconds and repeat: what the first call still does must end
    up as the same volume. Three volumes, as it is chance how far a call gets in 1 ms."""
    requests = [csi.requests.volume() for _ in range(3)]
    for request in requests:
        with contextlib.suppress(Refused):
            csi.controller.CreateVolume(request, timeout=0.001)
    with together() as check:
        for request in requests:
            with check:
                volume = _unless_pending(lambda request=request: csi.steps.volume(request))  # type: ignore[misc]
                again = csi.steps.volume(request)
                expect(
                    again == volume,
                    "CreateVolume after a deadline of 1 ms makes one volume, however often it is"
                    " repeated",
                    wanted=volume,
                    got=again,
                )


def _unless_pending(call: Callable[[], pb.Volume]) -> pb.Volume:
    """The answer, asked for again while the driver says that it is still at the first call."""

    def answer() -> pb.Volume | None:
        try:
            return call()
        except Refused as refusal:
            if refusal.code != Code.ABORTED:
                raise
            return None

    volume = eventually(answer, 60.0, "CreateVolume is not ABORTED for ever after a deadline")
    assert volume is not None
    return volume


@case("CSI-PROTO-013", "robustness: whoever may open the socket may write to it")
def test_garbage_on_one_connection_does_not_reach_others(csi: CsiTarget) -> None:
    """A probe that speaks plain HTTP, or a client killed amid its greeting, is no reason to take
    the storage of a node away."""
    with together() as check, contextlib.ExitStack() as stack:
        for what, garbage in _GARBAGE.items():
            connection = stack.enter_context(sockets.connect(csi.endpoint))
            with contextlib.suppress(OSError):
                connection.sendall(garbage)
            rule = f"after {what} on another connection the driver answers as before"
            with check:
                expect_status(lambda: csi.identity.Probe(pb.ProbeRequest()), {Code.OK}, rule)
            with check:
                expect_status(lambda: _probe_over_own_connection(csi.endpoint), {Code.OK}, rule)
