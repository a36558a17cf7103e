"""A proxy changes nothing of a call of any kind, except what a rule says; and it records all."""

import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from refimpl.csi.api import csi_pb2 as csi
from refimpl.csi.api import csi_pb2_grpc as stubs
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.faults import (
    Close,
    Delay,
    DropReply,
    EndStream,
    FaultRule,
    Faults,
    Hang,
    Mutate,
    Status,
)
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.proxy import Proxy
from refimpl.wire.status import Code

DEADLINE_S = 30.0
LARGE = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_metadata_size", 1 << 20),
    ("grpc.absolute_max_metadata_size", 1 << 20),
]
SERVICE = "/not.in.any.Schema/"


class Upstream(grpc.GenericRpcHandler):
    """A server of a service that no descriptor pool knows; remembers what reached it."""

    def __init__(self) -> None:
        self.metadata: list[tuple[str, str | bytes]] = []
        self.remaining: float | None = None
        self.got: list[bytes] = []
        self.half_closed = False
        self.ended = threading.Event()
        self.go = threading.Event()

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        name = details.method.rpartition("/")[2]
        if name in ("CreateVolume", "GetMetadataAllocated"):
            return grpc.unary_stream_rpc_method_handler(getattr(self, name))
        if details.method == f"{SERVICE}Unary":
            return grpc.unary_unary_rpc_method_handler(self.unary)
        if details.method == f"{SERVICE}Collect":
            return grpc.stream_unary_rpc_method_handler(self.collect)
        behaviours = {"Count": self.count, "Endless": self.endless, "Silent": self.silent}
        if name in behaviours:
            return grpc.unary_stream_rpc_method_handler(behaviours[name])
        return grpc.stream_stream_rpc_method_handler(self.echo) if name == "Echo" else None

    def noticed(self, context: grpc.ServicerContext) -> None:
        self.metadata = [(key, value) for key, value in context.invocation_metadata()]
        remaining = context.time_remaining()
        self.remaining = remaining if remaining is not None and remaining < 1e8 else None
        context.add_callback(self.ended.set)

    def unary(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self.noticed(context)
        self.got.append(request)
        context.send_initial_metadata((("early", "1"), ("early-bin", b"\x00\xff")))
        context.set_trailing_metadata((("late", "2"), ("late", "3"), ("late-bin", b"\xfe")))
        if request.startswith(b"fail "):
            _, code, *words = request.decode().split(" ")
            context.set_trailing_metadata((("grpc-status-details-bin", b"\x08\x05"), ("late", "4")))
            context.abort({str(s.value[0]): s for s in grpc.StatusCode}[code], " ".join(words))
        return request

    def collect(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        self.noticed(context)
        try:
            for request in requests:
                self.got.append(request)
            self.half_closed = True
        finally:
            self.ended.set()
        return b"|".join(self.got)

    def count(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        self.noticed(context)
        for number in range(int(request)):
            yield str(number).encode()
        context.set_trailing_metadata((("counted", request.decode()),))

    def endless(self, _request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        self.noticed(context)
        for number in itertools.count():
            if self.ended.is_set():
                return
            yield str(number).encode()

    def silent(self, _request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        self.noticed(context)
        context.send_initial_metadata((("early", "1"),))
        self.ended.wait()
        yield from ()

    def echo(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        self.noticed(context)
        for request in requests:
            yield b"re:" + request
        self.half_closed = True

    def CreateVolume(self, request: bytes, _context: object) -> Iterator[bytes]:
        self.got.append(request)
        name = csi.CreateVolumeRequest.FromString(request).name
        reply = csi.CreateVolumeResponse(volume={"volume_id": name, "capacity_bytes": 5})
        yield reply.SerializeToString()

    def GetMetadataAllocated(self, _request: bytes, _context: object) -> Iterator[bytes]:
        for number in range(1, 6):
            reply = csi.GetMetadataAllocatedResponse(volume_capacity_bytes=number)
            yield reply.SerializeToString()


class Site:
    """A client, a proxy and a server, all over unix sockets."""

    def __init__(self, directory: Path) -> None:
        self.upstream = Upstream()
        self.behind = Endpoint.parse(directory / "behind.sock")
        self.serve()
        self.journal, self.faults = Journal(), Faults(report=lambda _: None)
        self.proxy = Proxy(self.behind, journal=self.journal, faults=self.faults)
        self.endpoint = self.proxy.start(Endpoint.parse(directory / "front.sock"))
        self.options = [*LARGE, ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        self.channel = grpc.insecure_channel(self.endpoint.target, self.options)

    def serve(self) -> None:
        """Starts the server behind the proxy."""
        handlers = [self.upstream]
        self.server = grpc.server(ThreadPoolExecutor(8), handlers=handlers, options=LARGE)
        self.server.add_insecure_port(self.behind.target)
        self.server.start()

    def unary(self, request: bytes, **options: Any) -> tuple[bytes, Any]:
        """A unary call and its grpc.Call."""
        call = self.channel.unary_unary(f"{SERVICE}Unary")
        return call.with_call(request, timeout=DEADLINE_S, **options)  # type: ignore[no-any-return]

    def create(self, name: str) -> csi.CreateVolumeResponse:
        """A call of a method that the schemas know."""
        stub = stubs.ControllerStub(self.channel)
        return stub.CreateVolume(csi.CreateVolumeRequest(name=name), timeout=DEADLINE_S)

    def recorded(self, count: int = 1) -> Entry:
        """The newest entry, once there are so many: they come when the call is over."""
        until(lambda: len(self.journal.entries) >= count)
        return self.journal.entries[-1]

    def close(self) -> None:
        self.channel.close()
        self.proxy.stop()
        self.upstream.ended.set()
        self.server.stop(0).wait()


def until(holds: Callable[[], object]) -> None:
    """Waits for a condition that another thread brings about."""
    never = threading.Event()
    while not holds():
        never.wait(0.002)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.close()


def user_keys(metadata: Any) -> list[tuple[str, str | bytes]]:
    """Metadata without what grpc adds on every hop."""
    return [(key, value) for key, value in metadata if key != "user-agent"]


def test_a_unary_call_passes_with_all_its_metadata(site: Site) -> None:
    """Order, repeated keys and binary values included; the method is in no schema."""
    metadata = (("who", "me"), ("who", "you"), ("raw-bin", b"\x00\xff"))
    reply, call = site.unary(b"\xff\x00 not protobuf", metadata=metadata)
    assert reply == b"\xff\x00 not protobuf"
    assert user_keys(site.upstream.metadata) == list(metadata)
    assert list(call.initial_metadata()) == [("early", "1"), ("early-bin", b"\x00\xff")]
    assert list(call.trailing_metadata()) == [("late", "2"), ("late", "3"), ("late-bin", b"\xfe")]
    assert call.code() is grpc.StatusCode.OK


@pytest.mark.parametrize("code", [status for status in grpc.StatusCode if status.value[0]])
def test_every_status_passes_with_its_message_and_details(
    site: Site, code: grpc.StatusCode
) -> None:
    """Sidecars decide by the code, people by the message, some clients by the details."""
    message = "straße % \t 100%"
    with pytest.raises(grpc.RpcError) as caught:
        site.unary(f"fail {code.value[0]} {message}".encode())
    error: Any = caught.value
    assert (error.code(), error.details()) == (code, message)
    assert list(error.initial_metadata()) == [("early", "1"), ("early-bin", b"\x00\xff")]
    assert list(error.trailing_metadata()) == [
        ("grpc-status-details-bin", b"\x08\x05"),
        ("late", "4"),
    ]
    entry = site.recorded()
    assert (entry.code.value, entry.message) == (code.value[0], message)
    assert entry.details == b"\x08\x05"


def test_large_messages_and_metadata_pass(site: Site) -> None:
    """Limits are a matter of the two ends: 20 MiB, and more headers than grpc takes by itself."""
    large, long = bytes(20 * 1024 * 1024), ("long", "x" * 100_000)
    assert site.unary(large, metadata=(long,))[0] == large
    assert long in site.upstream.metadata


def test_a_method_that_the_server_does_not_have_stays_unimplemented(site: Site) -> None:
    """The proxy has no opinion on methods."""
    with pytest.raises(grpc.RpcError) as caught:
        site.channel.unary_unary("/x.Y/Z")(b"", timeout=DEADLINE_S)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert site.recorded().code is Code.UNIMPLEMENTED


def test_a_stream_of_replies_passes_with_its_trailers(site: Site) -> None:
    """In order, complete."""
    replies = site.channel.unary_stream(f"{SERVICE}Count")(b"500", timeout=DEADLINE_S)
    assert list(replies) == [str(number).encode() for number in range(500)]
    assert list(replies.trailing_metadata()) == [("counted", "500")]


def test_a_stream_of_requests_passes_to_its_end(site: Site) -> None:
    """The end of the requests is told to the upstream, and only then does it answer."""
    call = site.channel.stream_unary(f"{SERVICE}Collect")
    assert call(iter([b"a", b"b", b"c"]), timeout=DEADLINE_S) == b"a|b|c"
    assert site.upstream.half_closed
    entry = site.recorded()
    assert (entry.requests, entry.replies) == ((b"a", b"b", b"c"), (b"a|b|c",))


def test_requests_and_replies_may_alternate(site: Site) -> None:
    """Each side waits for the other: nothing may be held back."""
    answered = threading.Semaphore(0)

    def requests() -> Iterator[bytes]:
        for number in range(5):
            yield str(number).encode()
            answered.acquire()

    replies = []
    for reply in site.channel.stream_stream(f"{SERVICE}Echo")(requests(), timeout=DEADLINE_S):
        replies.append(reply)
        answered.release()
    assert replies == [b"re:0", b"re:1", b"re:2", b"re:3", b"re:4"]
    assert site.upstream.half_closed


def test_initial_metadata_does_not_wait_for_the_first_reply(site: Site) -> None:
    """A watcher may be told at once that its watch is on."""
    replies = site.channel.unary_stream(f"{SERVICE}Silent")(b"", timeout=DEADLINE_S)
    assert list(replies.initial_metadata()) == [("early", "1")]
    replies.cancel()
    assert site.upstream.ended.wait(DEADLINE_S)


@pytest.mark.parametrize(("timeout", "least"), [(20.0, 10.0), (None, None)])
def test_the_deadline_passes(site: Site, timeout: float | None, least: float | None) -> None:
    """A driver may act on the time it has left (grpc rounds it up a little); none stays none."""
    site.channel.unary_unary(f"{SERVICE}Unary")(b"", timeout=timeout)
    remaining = site.upstream.remaining
    assert (
        (remaining is None)
        if least is None
        else (remaining is not None and least < remaining < 21.0)
    )
    assert (site.recorded().deadline_s is None) is (timeout is None)


def test_when_the_deadline_is_over_the_upstream_learns_it(site: Site) -> None:
    """And the journal says why the call ended."""
    replies = site.channel.unary_stream(f"{SERVICE}Silent")(b"", timeout=0.3)
    with pytest.raises(grpc.RpcError) as caught:
        list(replies)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert site.upstream.ended.wait(DEADLINE_S)
    assert site.recorded().code is Code.DEADLINE_EXCEEDED


def test_cancelling_reaches_the_upstream(site: Site) -> None:
    """An endless stream must end behind the proxy, too."""
    replies = site.channel.unary_stream(f"{SERVICE}Endless")(b"", timeout=DEADLINE_S)
    assert next(replies) == b"0"
    replies.cancel()
    assert site.upstream.ended.wait(DEADLINE_S)
    assert site.recorded().code is Code.CANCELLED


def test_an_upstream_that_is_gone_is_unavailable_until_it_is_back(site: Site) -> None:
    """Nothing is sent twice, and nothing is answered in its name."""
    site.server.stop(0).wait()
    with pytest.raises(grpc.RpcError) as caught:
        site.unary(b"x")
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert site.recorded().code is Code.UNAVAILABLE
    site.serve()
    until(lambda: answered(site))
    assert site.upstream.got == [b"back"]


def answered(site: Site) -> bool:
    """Whether a call got through."""
    try:
        return site.unary(b"back")[0] == b"back"
    except grpc.RpcError:
        return False


def test_what_is_said_to_be_known_and_is_not_passes_as_bytes(site: Site) -> None:
    """A peer with a newer or a broken schema: the proxy is no judge of it."""
    site.faults.add(FaultRule(do=Mutate({"volume_capacity_bytes": 1})))
    method = "/csi.v1.SnapshotMetadata/GetMetadataAllocated"
    replies = site.channel.unary_stream(method)(b"\xff", timeout=DEADLINE_S)
    assert len(list(replies)) == 5
    assert site.recorded().to_dict()["requests"] == [{"bytes": "***"}]


def test_a_bug_of_ours_is_internal_and_loud(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Never UNKNOWN, never in silence."""

    class Broken(Hang):
        def before(self, _call: object, /) -> None:
            raise ZeroDivisionError("oh")

    site.faults.add(FaultRule(do=Broken()))
    with pytest.raises(grpc.RpcError, match="bug in the proxy: ZeroDivisionError: oh"):
        site.unary(b"x")
    assert (site.recorded().code, site.recorded().fault) == (Code.INTERNAL, "bug, r1")
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_what_the_schemas_know_is_decoded_for_the_journal(site: Site) -> None:
    """A person reads fields; of the rest, base64."""
    site.create("v1")
    described = site.recorded()
    assert (described.side, described.rpc, described.peer) == ("proxy", "CreateVolume", "unix:")
    assert described.to_dict()["requests"] == [{"name": "v1"}]
    site.unary(b"\xff")
    assert site.recorded(2).to_dict()["requests"] == [{"bytes": "/w=="}]


def test_a_caller_over_tcp_is_named(tmp_path: Path) -> None:
    """The port for CI; the peer is then an address."""
    with Proxy(Endpoint.parse(tmp_path / "nobody.sock")) as proxy:
        endpoint = proxy.start(Endpoint.parse("tcp://127.0.0.1:0"))
        with grpc.insecure_channel(endpoint.target) as channel, pytest.raises(grpc.RpcError):
            channel.unary_unary("/x.Y/Z")(b"", timeout=DEADLINE_S)
        until(lambda: proxy.journal.entries)
        assert proxy.journal.entries[0].peer.startswith("ipv4:127.0.0.1:")


def test_status_is_answered_without_the_upstream(site: Site) -> None:
    """Also for a method that nobody knows."""
    site.faults.add(
        FaultRule(do=Status(Code.ABORTED, "no"), method="/not.in.any.Schema/*", times=1)
    )
    with pytest.raises(grpc.RpcError) as caught:
        site.unary(b"x")
    assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.ABORTED, "no")
    assert site.upstream.got == []
    assert site.recorded().fault == "r1"
    assert site.unary(b"x")[0] == b"x"


def test_a_predicate_sees_the_decoded_request(site: Site) -> None:
    """For methods that the schemas know; for others it does not hold."""
    site.faults.add(FaultRule(do=Status(Code.ABORTED), request={"name": "bad*"}))
    assert site.create("good").volume.volume_id == "good"
    assert site.unary(b"x")[0] == b"x"
    with pytest.raises(grpc.RpcError, match="ABORTED"):
        site.create("bad-1")


def test_drop_reply_leaves_the_effect_behind_the_proxy(site: Site) -> None:
    """What no driver can do to itself: lose the answer of an effect it has had."""
    site.faults.add(FaultRule(do=DropReply(), times=2))
    for method in (lambda: site.create("v1"), lambda: site.unary(b"v2")):
        with pytest.raises(grpc.RpcError) as caught:
            method()
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert site.upstream.got == [csi.CreateVolumeRequest(name="v1").SerializeToString(), b"v2"]


def test_mutate_changes_known_replies_and_leaves_unknown_ones(site: Site) -> None:
    """And says of the others that it could not."""
    site.faults.add(FaultRule(do=Mutate({"volume.capacity_bytes": 1})))
    assert site.create("v1").volume.capacity_bytes == 1
    assert site.unary(b"x")[0] == b"x"
    assert "the reply is of no known type" in (site.recorded(2).fault or "")


def test_end_stream_cuts_the_stream_and_the_upstream_learns_it(site: Site) -> None:
    """With and without a schema."""
    site.faults.add(FaultRule(do=EndStream(2)))
    replies = site.channel.unary_stream(f"{SERVICE}Endless")(b"", timeout=DEADLINE_S)
    assert list(replies) == [b"0", b"1"]
    assert site.upstream.ended.wait(DEADLINE_S)
    stub = stubs.SnapshotMetadataStub(site.channel)
    described = stub.GetMetadataAllocated(csi.GetMetadataAllocatedRequest(), timeout=DEADLINE_S)
    assert [reply.volume_capacity_bytes for reply in described] == [1, 2]


@pytest.mark.parametrize(("phase", "reached"), [("before", 0), ("after", 1)])
def test_close_cuts_the_connection_of_the_caller(site: Site, phase: str, reached: int) -> None:
    """Before or after the call took effect; the connection to the upstream stays."""
    site.faults.add(FaultRule(do=Close(phase), times=1))  # type: ignore[arg-type]
    with pytest.raises(grpc.RpcError) as caught:
        site.create("v1")
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "fault" not in (caught.value.details() or "")
    assert len(site.upstream.got) == reached
    assert site.recorded().fault == "r1"
    with grpc.insecure_channel(site.endpoint.target, site.options) as fresh:
        assert fresh.unary_unary(f"{SERVICE}Unary")(b"x", timeout=DEADLINE_S) == b"x"


def test_hang_ends_with_the_caller_and_nothing_reaches_the_upstream(site: Site) -> None:
    """As in a server."""
    site.faults.add(FaultRule(do=Delay(0)), FaultRule(do=Hang(), id="hold"))
    future = site.channel.unary_unary(f"{SERVICE}Unary").future(b"x", timeout=DEADLINE_S)
    until(lambda: site.faults.to_dict()["counts"]["hold"]["holding"])
    future.cancel()
    assert site.recorded().code is Code.CANCELLED
    assert site.upstream.got == []


def test_many_open_streams_keep_nobody_waiting(site: Site) -> None:
    """Which calls last long cannot be known beforehand."""
    site.faults.add(FaultRule(do=Hang(), method="Silent"))
    method = site.channel.unary_stream(f"{SERVICE}Silent")
    streams = [method(b"", timeout=DEADLINE_S) for _ in range(40)]
    until(lambda: site.faults.to_dict()["counts"]["r1"]["holding"] == 40)
    assert site.unary(b"x")[0] == b"x"
    for stream in streams:
        stream.cancel()


def test_stopping_ends_held_calls_and_removes_the_socket(tmp_path: Path) -> None:
    """Nothing stays behind, and the caller is told."""
    site = Site(tmp_path)
    site.faults.add(FaultRule(do=Hang()))
    future = site.channel.unary_unary(f"{SERVICE}Unary").future(b"x", timeout=DEADLINE_S)
    until(lambda: site.faults.to_dict()["counts"]["r1"]["holding"])
    site.proxy.stop()
    assert future.code() is grpc.StatusCode.UNAVAILABLE
    assert site.proxy.endpoint is None
    assert not (tmp_path / "front.sock").exists()
    site.close()


def test_a_port_that_cannot_be_bound_is_an_error_of_the_endpoint(tmp_path: Path) -> None:
    """Someone has it, even if nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        endpoint_in_use = Endpoint.parse(f"tcp://127.0.0.1:{holder.getsockname()[1]}")
        with pytest.raises(EndpointError, match="cannot be bound"):
            Proxy(Endpoint.parse(tmp_path / "nobody.sock")).start(endpoint_in_use)


def test_it_takes_over_no_living_socket_and_starts_once(site: Site) -> None:
    """Least of all the one of its upstream."""
    with pytest.raises(EndpointError, match="another server listens there"):
        Proxy(site.behind).start(site.behind)
    with pytest.raises(RuntimeError, match="stop it"):
        site.proxy.start(site.endpoint)
