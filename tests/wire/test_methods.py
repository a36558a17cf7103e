"""Whatever an implementation does, its caller gets a status and the journal the whole story."""

import logging
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from refimpl.csi.api import csi_pb2
from refimpl.wire.faults import DropReply, FaultRule, Faults, Hang, Status
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

WAIT_S = 10.0
CREATE = "/csi.v1.Controller/CreateVolume"
Serve = Callable[..., Any]


def created(request: csi_pb2.CreateVolumeRequest, _call: Call) -> csi_pb2.CreateVolumeResponse:
    return csi_pb2.CreateVolumeResponse(volume=csi_pb2.Volume(volume_id=f"id-{request.name}"))


def test_a_call_is_answered_and_its_record_is_there_before_the_answer(
    serve: Serve,
) -> None:
    """A test asserts on the journal right after the call, without waiting."""
    wire = serve(created)
    assert wire.create(name="a").volume.volume_id == "id-a"
    entry = wire.entry()
    assert (entry.method, entry.code, entry.side, entry.fault) == (CREATE, Code.OK, "server", None)
    assert entry.requests == (csi_pb2.CreateVolumeRequest(name="a"),)
    assert entry.replies == (created(csi_pb2.CreateVolumeRequest(name="a"), None),)  # type: ignore[arg-type]
    assert entry.peer == "unix:"
    assert entry.deadline_s == pytest.approx(WAIT_S, abs=5)
    assert entry.duration_s > 0


def test_a_refusal_is_the_status_and_nothing_else(serve: Serve) -> None:
    """Clients of CSI and CRI read code and message; details would be noise."""

    def create(*_: Any) -> Any:
        raise Refused(Code.OUT_OF_RANGE, "größer als erlaubt")

    wire = serve(create)
    with pytest.raises(grpc.RpcError) as caught:
        wire.create()
    error: Any = caught.value
    assert (error.code(), error.details()) == (grpc.StatusCode.OUT_OF_RANGE, "größer als erlaubt")
    assert "grpc-status-details-bin" not in dict(error.trailing_metadata())
    assert (wire.entry().code, wire.entry().message) == (Code.OUT_OF_RANGE, "größer als erlaubt")
    assert wire.entry().replies == ()


def test_status_details_travel_if_given(serve: Serve) -> None:
    """A proxy's upstream may have sent some."""

    def create(*_: Any) -> Any:
        raise Refused(Code.ABORTED, "busy", details=b"\x08\x0a")

    with pytest.raises(grpc.RpcError) as caught:
        serve(create).create()
    error: Any = caught.value
    assert dict(error.trailing_metadata())["grpc-status-details-bin"] == b"\x08\x0a"


@pytest.mark.parametrize("char", ["x", "ü", "%", "🐢"])
def test_a_message_too_long_for_a_header_is_cut(serve: Serve, char: str) -> None:
    """The caller would otherwise get RESOURCE_EXHAUSTED for our trailer instead of our code."""

    def create(request: csi_pb2.CreateVolumeRequest, _call: Call) -> Any:
        raise Refused(Code.INVALID_ARGUMENT, f"name {request.name}")

    wire = serve(create)
    code, message = wire.refusal(lambda: wire.create(name=char * 100_000))
    assert code == "INVALID_ARGUMENT"
    assert message.endswith(f"{char}... (100005 characters)")
    assert len(wire.entry().message) == 100_005


def test_a_message_that_fits_is_not_cut(serve: Serve) -> None:
    """Errors name what was sent, and that may take a few lines."""

    def create(request: csi_pb2.CreateVolumeRequest, _call: Call) -> Any:
        raise Refused(Code.INVALID_ARGUMENT, request.name)

    wire = serve(create)
    assert wire.refusal(lambda: wire.create(name="x" * 5000)) == ("INVALID_ARGUMENT", "x" * 5000)


def test_a_method_that_is_missing_is_unimplemented(serve: Serve) -> None:
    """A driver without a capability may leave its RPCs out."""
    wire = serve(None)
    assert wire.refusal(wire.create) == (
        "UNIMPLEMENTED",
        f"{CREATE} is not implemented by this server",
    )
    assert wire.entry().code == Code.UNIMPLEMENTED


@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream", "stream_unary", "stream_stream"])
def test_a_method_of_no_service_is_unimplemented_for_calls_of_every_kind(
    serve: Serve, kind: str
) -> None:
    """The caller learns what this server has, and the journal that it asked."""
    wire = serve(created)
    invoke = getattr(wire.channel, kind)("/csi.v0.Node/Old")
    request = iter([b"x"]) if kind.startswith("stream") else b"x"
    replies = "unary" if kind.endswith("unary") else "stream"
    code, message = wire.refusal(
        lambda: (
            invoke(request, timeout=WAIT_S)
            if replies == "unary"
            else list(invoke(request, timeout=WAIT_S))
        )
    )
    assert code == "UNIMPLEMENTED"
    assert "no service here has /csi.v0.Node/Old" in message
    assert "csi.v1.Controller, csi.v1.SnapshotMetadata" in message
    assert wire.entry().method == "/csi.v0.Node/Old"


def test_a_request_that_cannot_be_decoded_is_an_invalid_argument(
    serve: Serve,
) -> None:
    """grpcio would say INTERNAL, as if the server were to blame."""
    wire = serve(created)
    code, message = wire.refusal(
        lambda: wire.channel.unary_unary(CREATE)(b"\xff\xff", timeout=WAIT_S)
    )
    assert code == "INVALID_ARGUMENT"
    assert "(2 bytes) is no csi.v1.CreateVolumeRequest" in message
    assert wire.entry().requests == (b"\xff\xff",)


@pytest.mark.parametrize("raised", [KeyError("lost"), SystemExit(3), RecursionError("deep")])
def test_an_exception_is_our_bug_and_is_called_so(
    serve: Serve, raised: BaseException, capfd: pytest.CaptureFixture[str]
) -> None:
    """It must not look like an answer of the interface; and the server goes on."""

    def create(request: csi_pb2.CreateVolumeRequest, call: Call) -> Any:
        if request.name:
            return created(request, call)
        raise raised

    wire = serve(create, unary_threads=1)
    code, message = wire.refusal(wire.create)
    assert code == "INTERNAL"
    assert message.startswith(f"refimpl: bug in {CREATE}: {type(raised).__name__}: ")
    assert wire.entry().fault == "bug"
    assert f"{type(raised).__name__}" in capfd.readouterr().err
    assert wire.create(name="b").volume.volume_id == "id-b"


def test_a_reply_of_the_wrong_type_is_a_bug(
    serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its bytes may well decode, to something else."""
    wire = serve(lambda _request, _call: csi_pb2.ProbeResponse())
    code, message = wire.refusal(wire.create)
    assert code == "INTERNAL"
    assert "returned ProbeResponse, not csi.v1.CreateVolumeResponse" in message
    assert "TypeError" in capfd.readouterr().err


def test_grpc_has_nothing_to_log(
    serve: Serve, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """It logs what it takes for errors of ours with a traceback; refusals are none."""

    def stream(*_: Any) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
        yield csi_pb2.GetMetadataAllocatedResponse()
        raise Refused(Code.ABORTED, "enough")

    wire = serve(None, stream)
    with caplog.at_level(logging.DEBUG, "grpc"):
        wire.refusal(wire.create)
        wire.refusal(lambda: list(wire.stream()))
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_a_fault_answers_instead_of_the_implementation(serve: Serve) -> None:
    """And the journal says which rule it was."""
    rule = FaultRule(
        id="full", method="CreateVolume", do=Status(code=Code.UNAVAILABLE, message="no")
    )
    wire = serve(created, faults=Faults([rule]))
    assert wire.refusal(wire.create) == ("UNAVAILABLE", "no")
    assert (wire.entry().fault, wire.entry().code) == ("full", Code.UNAVAILABLE)


def test_a_dropped_reply_still_takes_effect(serve: Serve) -> None:
    """The classic: the volume exists and its owner does not know."""
    created_names: list[str] = []

    def create(request: csi_pb2.CreateVolumeRequest, call: Call) -> Any:
        created_names.append(request.name)
        return created(request, call)

    wire = serve(create, faults=Faults([FaultRule(do=DropReply())]))
    assert wire.refusal(lambda: wire.create(name="a"))[0] == "UNAVAILABLE"
    assert created_names == ["a"]


def test_calls_that_a_fault_holds_starve_nobody(serve: Serve) -> None:
    """A pool of two threads would be full after two hanging calls."""
    arrived: SimpleQueue[str] = SimpleQueue()

    def slow(request: csi_pb2.CreateVolumeRequest) -> bool:
        arrived.put(request.name)
        return request.name == "slow"

    faults = Faults([FaultRule(id="h", request=slow, do=Hang())])
    wire = serve(created, faults=faults, unary_threads=1)
    request = csi_pb2.CreateVolumeRequest(name="slow").SerializeToString()
    waiting = [
        wire.channel.unary_unary(CREATE).future(request, timeout=WAIT_S)  # type: ignore[arg-type]
        for _ in range(3)
    ]
    assert [arrived.get(timeout=WAIT_S) for _ in waiting] == ["slow"] * 3
    assert wire.create(name="quick").volume.volume_id == "id-quick"
    faults.clear()
    replies = [call.result() for call in waiting]
    assert len(replies) == 3
    assert [entry.fault for entry in wire.server.journal.entries].count("h") == 3


def test_a_message_over_the_limit_is_refused_and_the_server_goes_on(
    serve: Serve,
) -> None:
    """20 MiB against a limit of 16: a status, not a lost connection."""
    wire = serve(created)
    code, _ = wire.refusal(lambda: wire.create(name="x" * (20 << 20)))
    assert code == "RESOURCE_EXHAUSTED"
    assert len(wire.create(name="x" * (3 << 20)).volume.volume_id) == (3 << 20) + 3
