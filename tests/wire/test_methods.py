"""Whatever an implementation does, its caller gets a status and the journal the whole story."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from refimpl.csi.api import csi_pb2
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Delay, DropReply, EndStream, Faults, Hang, Rule, Status
from refimpl.wire.journal import Entry
from refimpl.wire.server import Call, Server
from refimpl.wire.status import Code, Refused

WAIT_S = 10.0
SERVICES = csi_pb2.DESCRIPTOR.services_by_name
CREATE = "/csi.v1.Controller/CreateVolume"
ALLOCATED = "/csi.v1.SnapshotMetadata/GetMetadataAllocated"
Invoke = Callable[..., Any]


class Wire:
    """A server under test and plain grpc on the other side, sending and receiving bytes."""

    def __init__(self, server: Server, endpoint: Endpoint) -> None:
        self.server = server
        self.channel = grpc.insecure_channel(endpoint.target)

    def create(self, **fields: Any) -> csi_pb2.CreateVolumeResponse:
        request = csi_pb2.CreateVolumeRequest(**fields).SerializeToString()
        reply = self.channel.unary_unary(CREATE)(request, timeout=WAIT_S)
        return csi_pb2.CreateVolumeResponse.FromString(reply)

    def stream(self, timeout: float = WAIT_S) -> Any:
        return self.channel.unary_stream(ALLOCATED)(b"", timeout=timeout)

    def entry(self) -> Entry:
        (only,) = self.server.journal.entries
        return only


@pytest.fixture
def serve(tmp_path: Any) -> Iterator[Callable[..., Wire]]:
    """Starts a server for implementations of CreateVolume and GetMetadataAllocated."""
    with ExitStack() as stack:

        def start(create: Any = None, stream: Any = None, **options: Any) -> Wire:
            services = {
                SERVICES["Controller"]: SimpleNamespace(CreateVolume=create),
                SERVICES["SnapshotMetadata"]: SimpleNamespace(GetMetadataAllocated=stream),
            }
            server = Server(services, **options)
            stack.callback(server.stop, 0)
            wire = Wire(server, server.start(Endpoint.parse(tmp_path / "s")))
            stack.callback(wire.channel.close)
            return wire

        yield start


def created(request: csi_pb2.CreateVolumeRequest, _call: Call) -> csi_pb2.CreateVolumeResponse:
    return csi_pb2.CreateVolumeResponse(volume=csi_pb2.Volume(volume_id=f"id-{request.name}"))


def blocks(count: int) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
    for size in range(count):
        yield csi_pb2.GetMetadataAllocatedResponse(volume_capacity_bytes=size)


def sizes(replies: Any) -> list[int]:
    message = csi_pb2.GetMetadataAllocatedResponse
    return [message.FromString(reply).volume_capacity_bytes for reply in replies]


def refusal(invoke: Callable[[], Any]) -> tuple[str, str]:
    """The code and the message with which a call ends; fails the test if it succeeds."""
    with pytest.raises(grpc.RpcError) as caught:
        invoke()
    error: Any = caught.value
    return error.code().name, error.details()


def test_a_call_is_answered_and_its_record_is_there_before_the_answer(
    serve: Callable[..., Wire],
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


def test_a_refusal_is_the_status_and_nothing_else(serve: Callable[..., Wire]) -> None:
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


def test_status_details_travel_if_given(serve: Callable[..., Wire]) -> None:
    """A proxy's upstream may have sent some."""

    def create(*_: Any) -> Any:
        raise Refused(Code.ABORTED, "busy", details=b"\x08\x0a")

    with pytest.raises(grpc.RpcError) as caught:
        serve(create).create()
    error: Any = caught.value
    assert dict(error.trailing_metadata())["grpc-status-details-bin"] == b"\x08\x0a"


@pytest.mark.parametrize("char", ["x", "ü", "%", "🐢"])
def test_a_message_too_long_for_a_header_is_cut(serve: Callable[..., Wire], char: str) -> None:
    """The caller would otherwise get RESOURCE_EXHAUSTED for our trailer instead of our code."""

    def create(request: csi_pb2.CreateVolumeRequest, _call: Call) -> Any:
        raise Refused(Code.INVALID_ARGUMENT, f"name {request.name}")

    wire = serve(create)
    code, message = refusal(lambda: wire.create(name=char * 100_000))
    assert code == "INVALID_ARGUMENT"
    assert message.endswith(f"{char}... (100005 characters)")
    assert len(wire.entry().message) == 100_005


def test_a_message_that_fits_is_not_cut(serve: Callable[..., Wire]) -> None:
    """Errors name what was sent, and that may take a few lines."""

    def create(request: csi_pb2.CreateVolumeRequest, _call: Call) -> Any:
        raise Refused(Code.INVALID_ARGUMENT, request.name)

    wire = serve(create)
    assert refusal(lambda: wire.create(name="x" * 5000)) == ("INVALID_ARGUMENT", "x" * 5000)


def test_a_method_that_is_missing_is_unimplemented(serve: Callable[..., Wire]) -> None:
    """A driver without a capability may leave its RPCs out."""
    wire = serve(None)
    assert refusal(wire.create) == (
        "UNIMPLEMENTED",
        f"{CREATE} is not implemented by this server",
    )
    assert wire.entry().code == Code.UNIMPLEMENTED


@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream", "stream_unary", "stream_stream"])
def test_a_method_of_no_service_is_unimplemented_for_calls_of_every_kind(
    serve: Callable[..., Wire], kind: str
) -> None:
    """The caller learns what this server has, and the journal that it asked."""
    wire = serve(created)
    invoke = getattr(wire.channel, kind)("/csi.v0.Node/Old")
    request = iter([b"x"]) if kind.startswith("stream") else b"x"
    replies = "unary" if kind.endswith("unary") else "stream"
    code, message = refusal(
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
    serve: Callable[..., Wire],
) -> None:
    """grpcio would say INTERNAL, as if the server were to blame."""
    wire = serve(created)
    code, message = refusal(lambda: wire.channel.unary_unary(CREATE)(b"\xff\xff", timeout=WAIT_S))
    assert code == "INVALID_ARGUMENT"
    assert "(2 bytes) is no csi.v1.CreateVolumeRequest" in message
    assert wire.entry().requests == (b"\xff\xff",)


@pytest.mark.parametrize("raised", [KeyError("lost"), SystemExit(3), RecursionError("deep")])
def test_an_exception_is_our_bug_and_is_called_so(
    serve: Callable[..., Wire], raised: BaseException, capfd: pytest.CaptureFixture[str]
) -> None:
    """It must not look like an answer of the interface; and the server goes on."""

    def create(request: csi_pb2.CreateVolumeRequest, call: Call) -> Any:
        if request.name:
            return created(request, call)
        raise raised

    wire = serve(create, unary_threads=1)
    code, message = refusal(wire.create)
    assert code == "INTERNAL"
    assert message.startswith(f"refimpl: bug in {CREATE}: {type(raised).__name__}: ")
    assert wire.entry().fault == "bug"
    assert f"{type(raised).__name__}" in capfd.readouterr().err
    assert wire.create(name="b").volume.volume_id == "id-b"


def test_a_reply_of_the_wrong_type_is_a_bug(
    serve: Callable[..., Wire], capfd: pytest.CaptureFixture[str]
) -> None:
    """Its bytes may well decode, to something else."""
    wire = serve(lambda _request, _call: csi_pb2.ProbeResponse())
    code, message = refusal(wire.create)
    assert code == "INTERNAL"
    assert "returned ProbeResponse, not csi.v1.CreateVolumeResponse" in message
    assert "TypeError" in capfd.readouterr().err


def test_grpc_has_nothing_to_log(
    serve: Callable[..., Wire], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """It logs what it takes for errors of ours with a traceback; refusals are none."""

    def stream(*_: Any) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
        yield from blocks(1)
        raise Refused(Code.ABORTED, "enough")

    wire = serve(None, stream)
    with caplog.at_level(logging.DEBUG, "grpc"):
        refusal(wire.create)
        refusal(lambda: list(wire.stream()))
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_a_fault_answers_instead_of_the_implementation(serve: Callable[..., Wire]) -> None:
    """And the journal says which rule it was."""
    rule = Rule(id="full", method="CreateVolume", do=Status(code=Code.UNAVAILABLE, message="no"))
    wire = serve(created, faults=Faults([rule]))
    assert refusal(wire.create) == ("UNAVAILABLE", "no")
    assert (wire.entry().fault, wire.entry().code) == ("full", Code.UNAVAILABLE)


def test_a_dropped_reply_still_takes_effect(serve: Callable[..., Wire]) -> None:
    """The classic: the volume exists and its owner does not know."""
    made: list[str] = []

    def create(request: csi_pb2.CreateVolumeRequest, call: Call) -> Any:
        made.append(request.name)
        return created(request, call)

    wire = serve(create, faults=Faults([Rule(do=DropReply())]))
    assert refusal(lambda: wire.create(name="a"))[0] == "UNAVAILABLE"
    assert made == ["a"]


def test_calls_that_a_fault_holds_starve_nobody(serve: Callable[..., Wire]) -> None:
    """A pool of two threads would be full after two hanging calls."""
    arrived: SimpleQueue[str] = SimpleQueue()

    def slow(request: csi_pb2.CreateVolumeRequest) -> bool:
        arrived.put(request.name)
        return request.name == "slow"

    faults = Faults([Rule(id="h", request=slow, do=Hang())])
    wire = serve(created, faults=faults, unary_threads=1)
    request = csi_pb2.CreateVolumeRequest(name="slow").SerializeToString()
    held = [
        wire.channel.unary_unary(CREATE).future(request, timeout=WAIT_S)  # type: ignore[arg-type]
        for _ in range(3)
    ]
    assert [arrived.get(timeout=WAIT_S) for _ in held] == ["slow"] * 3
    assert wire.create(name="quick").volume.volume_id == "id-quick"
    faults.clear()
    replies = [call.result() for call in held]
    assert len(replies) == 3
    assert [entry.fault for entry in wire.server.journal.entries].count("h") == 3


def test_a_delay_on_a_stream_holds_nobody_else(serve: Callable[..., Wire]) -> None:
    """The delayed stream comes late, and a call made meanwhile is served."""
    rule = Rule(id="d", method="Get*", do=Delay(seconds=60))
    faults = Faults([rule])
    wire = serve(created, lambda *_: blocks(2), faults=faults, unary_threads=1)
    late = wire.stream()
    assert wire.create(name="a").volume.volume_id == "id-a"
    faults.clear()
    assert sizes(late) == [0, 1]


def test_a_stream_delivers_its_messages_and_is_recorded_at_its_end(
    serve: Callable[..., Wire],
) -> None:
    """Each message is sent when the implementation yields it."""
    go = threading.Event()

    def stream(*_: Any) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
        yield from blocks(1)
        assert go.wait(WAIT_S)
        yield from blocks(2)

    wire = serve(None, stream)
    replies = wire.stream()
    assert sizes([next(replies)]) == [0]
    assert wire.server.journal.entries == []
    go.set()
    assert sizes(replies) == [0, 1]
    assert (wire.entry().code, len(wire.entry().replies)) == (Code.OK, 3)


def test_a_long_stream_leaves_its_newest_messages_in_the_record(
    serve: Callable[..., Wire],
) -> None:
    """Event streams of a runtime go on for days."""
    wire = serve(None, lambda *_: blocks(1005))
    assert len(sizes(wire.stream())) == 1005
    kept: Any = wire.entry().replies
    assert [reply.volume_capacity_bytes for reply in kept] == list(range(5, 1005))


@pytest.mark.parametrize(
    ("raised", "code"), [(Refused(Code.NOT_FOUND, "gone"), "NOT_FOUND"), (OSError(5), "INTERNAL")]
)
def test_a_stream_may_end_with_a_status(
    serve: Callable[..., Wire],
    raised: Exception,
    code: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What was sent before arrives; a bug in mid-stream is one like any other."""

    def stream(*_: Any) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
        yield from blocks(2)
        raise raised

    wire = serve(None, stream)
    replies = wire.stream()
    assert sizes([next(replies), next(replies)]) == [0, 1]
    assert refusal(lambda: next(replies))[0] == code
    assert wire.entry().code.name == code
    assert ("bug in" in capfd.readouterr().err) == (code == "INTERNAL")


def test_a_fault_may_end_a_stream(serve: Callable[..., Wire]) -> None:
    """As if complete, or with a status; the implementation is closed."""
    closed: SimpleQueue[str] = SimpleQueue()

    def stream(*_: Any) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
        try:
            yield from blocks(100)
        finally:
            closed.put("closed")

    rule = Rule(id="cut", do=EndStream(messages=2))
    wire = serve(None, stream, faults=Faults([rule]))
    assert sizes(wire.stream()) == [0, 1]
    assert closed.get(timeout=WAIT_S) == "closed"
    assert (wire.entry().fault, len(wire.entry().replies)) == ("cut", 2)


def waiting(entered: "SimpleQueue[str]") -> Any:
    """An implementation that streams until it is cancelled, the way a watch does."""

    def stream(_request: Any, call: Call) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
        over = threading.Event()
        call.on_cancel(over.set)
        entered.put("open")
        try:
            yield from blocks(1)
            assert over.wait(WAIT_S)
        finally:
            entered.put("closed")

    return stream


def test_a_stream_that_its_caller_cancels_is_closed_and_recorded(
    serve: Callable[..., Wire],
) -> None:
    """A watch must not go on for nobody."""
    events: SimpleQueue[str] = SimpleQueue()
    wire = serve(None, waiting(events))
    replies = wire.stream()
    next(replies)
    assert events.get(timeout=WAIT_S) == "open"
    replies.cancel()
    assert events.get(timeout=WAIT_S) == "closed"
    wire.server.stop(WAIT_S)  # waits for the record
    assert wire.entry().code == Code.CANCELLED


def test_a_stream_whose_deadline_passes_is_recorded_as_such(serve: Callable[..., Wire]) -> None:
    """Kubelet's own deadline, not a caller that went away."""
    events: SimpleQueue[str] = SimpleQueue()
    wire = serve(None, waiting(events))
    assert refusal(lambda: list(wire.stream(timeout=0.3)))[0] == "DEADLINE_EXCEEDED"
    assert [events.get(timeout=WAIT_S) for _ in range(2)] == ["open", "closed"]
    wire.server.stop(WAIT_S)
    assert wire.entry().code == Code.DEADLINE_EXCEEDED


def test_an_endless_stream_is_closed_when_nobody_reads_it(serve: Callable[..., Wire]) -> None:
    """The implementation sits in `yield` then and gets GeneratorExit, as generators do."""
    closed: SimpleQueue[str] = SimpleQueue()

    def stream(*_: Any) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
        try:
            while True:
                yield from blocks(2)
        finally:
            closed.put("closed")

    wire = serve(None, stream)
    replies = wire.stream()
    next(replies)
    replies.cancel()
    assert closed.get(timeout=WAIT_S) == "closed"


def test_open_streams_never_starve_unary_calls(serve: Callable[..., Wire]) -> None:
    """Every kubelet holds some open for as long as it runs."""
    events: SimpleQueue[str] = SimpleQueue()
    wire = serve(created, waiting(events), unary_threads=1)
    streams = [wire.stream() for _ in range(16)]
    assert [events.get(timeout=WAIT_S) for _ in streams] == ["open"] * 16
    assert wire.create(name="a").volume.volume_id == "id-a"


def test_one_stream_too_many_is_refused_at_once(serve: Callable[..., Wire]) -> None:
    """It would wait for a thread without a word; and it is served when one has ended."""
    events: SimpleQueue[str] = SimpleQueue()
    wire = serve(None, waiting(events), stream_threads=1)
    first = wire.stream()
    assert events.get(timeout=WAIT_S) == "open"
    code, message = refusal(lambda: list(wire.stream()))
    assert code == "RESOURCE_EXHAUSTED"
    assert message.startswith("1 streams are open")
    first.cancel()
    assert events.get(timeout=WAIT_S) == "closed"


def test_a_message_over_the_limit_is_refused_and_the_server_goes_on(
    serve: Callable[..., Wire],
) -> None:
    """20 MiB against a limit of 16: a status, not a lost connection."""
    wire = serve(created)
    code, _ = refusal(lambda: wire.create(name="x" * (20 << 20)))
    assert code == "RESOURCE_EXHAUSTED"
    assert len(wire.create(name="x" * (3 << 20)).volume.volume_id) == (3 << 20) + 3
