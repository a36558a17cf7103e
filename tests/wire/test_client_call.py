"""Each call of the client ends as a reply or a Refused, and leaves one entry."""

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from refimpl.csi.api import csi_pb2, csi_pb2_grpc
from refimpl.wire.client import Channel
from refimpl.wire.client_call import UnaryCall
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.server import Call, Server
from refimpl.wire.status import Code, Refused

WAIT_S = 10.0
SERVICES = csi_pb2.DESCRIPTOR.services_by_name
CREATE = "/csi.v1.Controller/CreateVolume"


class Wire:
    """A channel under test, its stubs, and what it recorded."""

    def __init__(self, channel: Channel) -> None:
        assert channel.journal is not None
        self.channel, self.journal = channel, channel.journal
        self.controller = csi_pb2_grpc.ControllerStub(channel)
        self.metadata = csi_pb2_grpc.SnapshotMetadataStub(channel)

    def entry(self) -> Entry:
        (only,) = self.journal.entries
        return only


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[..., Wire]]:
    """Connects to a server with these implementations of CreateVolume, GetMetadataAllocated."""
    with ExitStack() as stack:

        def start(create: Any = None, stream: Any = None) -> Wire:
            services = {
                SERVICES["Controller"]: SimpleNamespace(CreateVolume=create),
                SERVICES["SnapshotMetadata"]: SimpleNamespace(GetMetadataAllocated=stream),
            }
            server = Server(services)
            stack.callback(server.stop, 0)
            endpoint = server.start(Endpoint.parse(tmp_path / "s"))
            return Wire(stack.enter_context(Channel(endpoint, journal=Journal())))

        yield start


def created(request: csi_pb2.CreateVolumeRequest, _call: Call) -> csi_pb2.CreateVolumeResponse:
    return csi_pb2.CreateVolumeResponse(volume=csi_pb2.Volume(volume_id=f"id-{request.name}"))


def sizes(*numbers: int) -> list[csi_pb2.GetMetadataAllocatedResponse]:
    return [csi_pb2.GetMetadataAllocatedResponse(volume_capacity_bytes=n) for n in numbers]


def test_a_reply_comes_back_and_an_entry_tells_of_it(connect: Callable[..., Wire]) -> None:
    """Reports show what the client saw, not what the server believes."""
    wire = connect(created)
    request = csi_pb2.CreateVolumeRequest(name="a")
    reply = wire.controller.CreateVolume(request, timeout=5)
    request.name = "used again"
    entry = wire.entry()
    assert reply.volume.volume_id == "id-a"
    assert (entry.side, entry.method, entry.code) == ("client", CREATE, Code.OK)
    assert entry.requests == (csi_pb2.CreateVolumeRequest(name="a"),)
    assert entry.replies == (reply,)
    assert entry.peer == str(wire.channel.endpoint)
    assert entry.deadline_s == 5
    assert entry.duration_s > 0


def test_a_refusal_is_raised_with_all_that_the_server_said(connect: Callable[..., Wire]) -> None:
    """Code, message, and the serialized details where there are some."""

    def create(*_: Any) -> Any:
        raise Refused(Code.ABORTED, "an operation is pending", details=b"\x08\x0a")

    wire = connect(create)
    with pytest.raises(Refused) as caught:
        wire.controller.CreateVolume(csi_pb2.CreateVolumeRequest())
    refused = caught.value
    assert str(refused) == "ABORTED: an operation is pending"
    assert refused.details == b"\x08\x0a"
    assert refused.__cause__ is None
    assert refused.__suppress_context__  # a report shows one error, not grpc's on top
    assert (wire.entry().code, wire.entry().details) == (Code.ABORTED, b"\x08\x0a")
    assert wire.entry().replies == ()


def test_a_deadline_says_how_long_it_was(connect: Callable[..., Wire]) -> None:
    """grpc's own text is "Deadline Exceeded"."""
    over = threading.Event()

    def create(_request: Any, call: Call) -> Any:
        call.on_cancel(over.set)
        over.wait(WAIT_S)
        return csi_pb2.CreateVolumeResponse()

    wire = connect(create)
    with pytest.raises(Refused, match=rf"DEADLINE_EXCEEDED: {CREATE}: no answer within 0\.1 s"):
        wire.controller.CreateVolume(csi_pb2.CreateVolumeRequest(), timeout=0.1)
    assert wire.entry().code == Code.DEADLINE_EXCEEDED


def test_a_deadline_that_the_server_states_keeps_its_words(connect: Callable[..., Wire]) -> None:
    """A driver may give up on its storage before we do."""

    def create(*_: Any) -> Any:
        raise Refused(Code.DEADLINE_EXCEEDED, "the array took too long")

    with pytest.raises(Refused, match="the array took too long"):
        connect(create).controller.CreateVolume(csi_pb2.CreateVolumeRequest())


def test_a_reply_that_cannot_be_decoded_is_refused(connect: Callable[..., Wire]) -> None:
    """A mistake of the server must not come up as a traceback of the suite."""
    wire = connect(created)
    call = wire.channel.unary_unary(
        CREATE,
        csi_pb2.CreateVolumeRequest.SerializeToString,
        lambda data: csi_pb2.CreateVolumeResponse.FromString(b"\xff" + data),
    )
    with pytest.raises(Refused, match=f"the reply of {CREATE} .* is no message of its type"):
        call(csi_pb2.CreateVolumeRequest(name="a"))
    (raw,) = wire.entry().replies
    assert isinstance(raw, bytes)


@pytest.mark.parametrize(
    ("seconds", "code"), [(0.0, Code.DEADLINE_EXCEEDED), (60.0, Code.INTERNAL)]
)
def test_an_ok_without_a_reply_is_refused(
    connect: Callable[..., Wire], seconds: float, code: Code
) -> None:
    """grpcio lets it pass; a server written in Go ends like that when the deadline hits its end."""
    wire = connect(created)
    invoke = SimpleNamespace(with_call=lambda *_, **__: (None, None))
    call = UnaryCall(wire.channel, CREATE, invoke, None, None, False)
    with pytest.raises(Refused) as refused:
        call(b"", timeout=seconds)
    assert refused.value.code == code
    assert wire.entry().code == code
    assert wire.entry().replies == ()


def test_bytes_pass_where_no_serializer_is_given(connect: Callable[..., Wire]) -> None:
    """Malformed requests are made that way."""
    wire = connect(created)
    with pytest.raises(Refused, match="INVALID_ARGUMENT"):
        wire.channel.unary_unary(CREATE)(b"\xff")
    assert wire.entry().requests == (b"\xff",)


def test_with_call_gives_the_trailers_too(connect: Callable[..., Wire]) -> None:
    """Some cases look at them."""
    reply, call = connect(created).controller.CreateVolume.with_call(
        csi_pb2.CreateVolumeRequest(name="a"), metadata=(("x", "y"),)
    )
    assert reply.volume.volume_id == "id-a"
    assert call.code() == grpc.StatusCode.OK


def test_a_stream_is_iterated_and_recorded_when_it_ends(connect: Callable[..., Wire]) -> None:
    """One entry with all messages."""
    wire = connect(None, lambda *_: iter(sizes(1, 2)))
    replies = wire.metadata.GetMetadataAllocated(csi_pb2.GetMetadataAllocatedRequest())
    assert next(replies) == sizes(1)[0]
    assert wire.journal.entries == []
    assert list(replies) == sizes(2)
    assert wire.entry().replies == tuple(sizes(1, 2))
    assert wire.entry().code == Code.OK


def test_a_stream_that_ends_badly_raises_after_what_came_before(
    connect: Callable[..., Wire],
) -> None:
    """The entry has both."""

    def stream(*_: Any) -> Any:
        yield from sizes(1)
        raise Refused(Code.NOT_FOUND, "gone")

    wire = connect(None, stream)
    replies = wire.metadata.GetMetadataAllocated(csi_pb2.GetMetadataAllocatedRequest())
    assert next(replies) == sizes(1)[0]
    with pytest.raises(Refused, match="NOT_FOUND: gone"):
        next(replies)
    assert (wire.entry().code, wire.entry().replies) == (Code.NOT_FOUND, tuple(sizes(1)))


def test_a_stream_with_an_undecodable_message_is_refused(connect: Callable[..., Wire]) -> None:
    """And cancelled: what follows would make no more sense."""
    wire = connect(None, lambda *_: iter(sizes(1, 2)))
    call = wire.channel.unary_stream(
        "/csi.v1.SnapshotMetadata/GetMetadataAllocated",
        None,
        lambda data: csi_pb2.GetMetadataAllocatedResponse.FromString(b"\xff" + data),
    )
    with pytest.raises(Refused, match="is no message of its type"):
        list(call(b""))
    assert wire.entry().code == Code.INTERNAL


def watch(events: "SimpleQueue[str]") -> Any:
    """Sends one message and waits for the caller to go."""

    def stream(_request: Any, call: Call) -> Any:
        over = threading.Event()
        call.on_cancel(over.set)
        try:
            yield from sizes(1)
            assert over.wait(WAIT_S)
        finally:
            events.put("closed")

    return stream


def test_a_stream_can_be_cancelled_from_another_thread(connect: Callable[..., Wire]) -> None:
    """Whoever waits in it is let go."""
    events: SimpleQueue[str] = SimpleQueue()
    wire = connect(None, watch(events))
    replies = wire.metadata.GetMetadataAllocated(csi_pb2.GetMetadataAllocatedRequest())
    next(replies)
    canceller = threading.Timer(0, replies.cancel)
    canceller.start()
    with pytest.raises(Refused, match="CANCELLED"):
        next(replies)
    canceller.join(WAIT_S)
    assert events.get(timeout=WAIT_S) == "closed"
    assert wire.entry().code == Code.CANCELLED


@pytest.mark.parametrize("read", [0, 1])
def test_a_stream_that_is_dropped_is_cancelled_and_recorded(
    connect: Callable[..., Wire], read: int
) -> None:
    """`for reply in stream: break` leaves it like that."""
    events: SimpleQueue[str] = SimpleQueue()
    wire = connect(None, watch(events))
    replies = wire.metadata.GetMetadataAllocated(csi_pb2.GetMetadataAllocatedRequest())
    for _ in range(read):
        next(replies)
    del replies
    gc.collect()
    assert wire.entry().code == Code.CANCELLED
    assert len(wire.entry().replies) == read
    if read:  # otherwise the request may not have reached the server at all
        assert events.get(timeout=WAIT_S) == "closed"


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[Channel]:
    """A plain grpc server for streams of requests, which our own does not serve."""

    class Echo(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            if details.method == "/t.Echo/All":
                return grpc.stream_stream_rpc_method_handler(lambda requests, _: requests)
            return grpc.stream_unary_rpc_method_handler(lambda requests, _: b"".join(requests))

    server = grpc.server(ThreadPoolExecutor(2), handlers=[Echo()])
    endpoint = Endpoint.parse(tmp_path / "echo")
    server.add_insecure_port(endpoint.target)
    server.start()
    with Channel(endpoint, journal=Journal()) as channel:
        yield channel
    server.stop(0).wait()


def test_requests_can_be_streamed_to_one_reply(echo: Channel) -> None:
    """Upload style."""
    assert echo.stream_unary("/t.Echo/Join")(iter([b"a", b"b"]), timeout=WAIT_S) == b"ab"
    assert echo.journal is not None
    (entry,) = echo.journal.entries
    assert (entry.requests, entry.replies) == ((b"a", b"b"), (b"ab",))


def test_requests_and_replies_can_be_streamed(echo: Channel) -> None:
    """Conversation style, with messages of a known type."""
    talk = echo.stream_stream(
        "/t.Echo/All", csi_pb2.Volume.SerializeToString, csi_pb2.Volume.FromString
    )
    volumes = [csi_pb2.Volume(volume_id=name) for name in "ab"]
    assert list(talk(iter(volumes), timeout=WAIT_S)) == volumes
    assert echo.journal is not None
    (entry,) = echo.journal.entries
    assert (entry.requests, entry.replies) == (tuple(volumes), tuple(volumes))
