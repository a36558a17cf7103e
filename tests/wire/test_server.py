"""A server comes up where nothing lives, survives bad callers, and leaves nothing behind."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool

from refimpl.csi.api import csi_pb2, csi_pb2_grpc
from refimpl.wire.endpoint import Endpoint, EndpointError, probe
from refimpl.wire.faults import Close, FaultRule, Faults
from refimpl.wire.server import Call, Server

WAIT_S = 10.0
SERVICES = csi_pb2.DESCRIPTOR.services_by_name
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Identity:
    """Answers Probe."""

    def Probe(self, _request: csi_pb2.ProbeRequest, _call: Call) -> csi_pb2.ProbeResponse:
        return csi_pb2.ProbeResponse()


class Watched(Identity):
    """Streams until it is cancelled, and tells of both ends."""

    def __init__(self) -> None:
        self.events: SimpleQueue[str] = SimpleQueue()

    def GetMetadataAllocated(
        self, _request: Any, call: Call
    ) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
        over = threading.Event()
        call.on_cancel(over.set)
        self.events.put("open")
        try:
            yield csi_pb2.GetMetadataAllocatedResponse()
            assert over.wait(WAIT_S)
        finally:
            self.events.put("closed")


@pytest.fixture
def make() -> Iterator[Callable[..., Server]]:
    """Makes servers that are stopped at the end."""
    with ExitStack() as stack:

        def one(service: object | None = None, **options: Any) -> Server:
            service = service or Identity()
            services = {SERVICES["Identity"]: service, SERVICES["SnapshotMetadata"]: service}
            server = Server(services, **options)
            stack.callback(server.stop, 0)
            return server

        yield one


@pytest.fixture
def endpoint(tmp_path: Path) -> Endpoint:
    return Endpoint.parse(tmp_path / "dir" / "s.sock")


def call(endpoint: Endpoint) -> csi_pb2.ProbeResponse:
    """One call over a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(endpoint.target, options=options) as channel:
        return csi_pb2_grpc.IdentityStub(channel).Probe(csi_pb2.ProbeRequest(), timeout=WAIT_S)


def test_a_server_answers_on_a_private_socket(
    make: Callable[..., Server], endpoint: Endpoint
) -> None:
    """The directory holds the socket and nothing else, as CSI wants it."""
    server = make()
    assert server.endpoint is None
    assert server.start(endpoint) == endpoint == server.endpoint
    assert call(endpoint) == csi_pb2.ProbeResponse()
    path = Path(endpoint.path)
    assert [path] == list(path.parent.iterdir())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_path_with_odd_characters_is_served_and_called_as_it_is(
    make: Callable[..., Server], tmp_path: Path
) -> None:
    """grpc takes a path for a URI, in which % and # mean something."""
    odd = Endpoint.parse(tmp_path / "a %41#?.sock")
    make().start(odd)
    assert call(odd) == csi_pb2.ProbeResponse()
    assert os.listdir(tmp_path) == ["a %41#?.sock"]


def test_port_0_is_replaced_by_the_one_that_was_chosen(make: Callable[..., Server]) -> None:
    """Parallel tests cannot agree on ports."""
    endpoint = make().start(Endpoint.parse("tcp://127.0.0.1:0"))
    assert endpoint.port > 0
    assert call(endpoint) == csi_pb2.ProbeResponse()


def test_a_taken_port_is_refused(make: Callable[..., Server]) -> None:
    """grpc would share it, and each server would get half of the calls."""
    endpoint_in_use = make().start(Endpoint.parse("tcp://127.0.0.1:0"))
    with pytest.raises(EndpointError, match="another server listens there"):
        make().start(endpoint_in_use)


def test_an_address_of_no_interface_is_refused(make: Callable[..., Server]) -> None:
    """The text names it; grpc says how to get a log."""
    with pytest.raises(EndpointError, match=r"tcp://192\.0\.2\.1:0 cannot be bound"):
        make(allow_remote=True).start(Endpoint.parse("tcp://192.0.2.1:0"))


def test_other_machines_need_permission(make: Callable[..., Server]) -> None:
    """The default serves this machine alone."""
    with pytest.raises(EndpointError, match="open to other machines"):
        make().start(Endpoint.parse("tcp://0.0.0.0:0"))


def test_a_second_server_is_refused_and_the_first_goes_on(
    make: Callable[..., Server], endpoint: Endpoint
) -> None:
    """grpc would take the socket over, and the first would look hung."""
    make().start(endpoint)
    with pytest.raises(EndpointError, match="another server listens there"):
        make().start(endpoint)
    assert call(endpoint) == csi_pb2.ProbeResponse()


def test_of_servers_that_race_for_one_path_one_wins(
    make: Callable[..., Server], endpoint: Endpoint
) -> None:
    """Whoever loses learns it; nobody ends up deaf."""
    start = threading.Barrier(4)

    def race(server: Server) -> str:
        start.wait(WAIT_S)
        try:
            server.start(endpoint)
        except EndpointError as error:
            return str(error)
        return "won"

    with ThreadPoolExecutor(4) as threads:
        ends = list(threads.map(race, [make() for _ in range(4)]))
    assert ends.count("won") == 1
    assert sum("another server listens there" in end for end in ends) == 3
    assert call(endpoint) == csi_pb2.ProbeResponse()


def test_the_socket_of_a_killed_server_is_taken_over(
    make: Callable[..., Server], endpoint: Endpoint
) -> None:
    """CSI: a driver comes up again at its path, whatever ended it."""
    script = (
        "import sys\n"
        "from refimpl.csi.api import csi_pb2\n"
        "from refimpl.wire.endpoint import Endpoint\n"
        "from refimpl.wire.server import Server\n"
        "server = Server({csi_pb2.DESCRIPTOR.services_by_name['Identity']: object()})\n"
        "server.start(Endpoint.parse(sys.argv[1]))\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(endpoint)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        other.send_signal(signal.SIGKILL)
    assert probe(endpoint) == "stale"
    make().start(endpoint)
    assert call(endpoint) == csi_pb2.ProbeResponse()


def test_stopping_removes_the_socket_and_the_threads(
    make: Callable[..., Server], endpoint: Endpoint
) -> None:
    """Twice is fine: a test may stop what its fixture stops again."""
    threads = threading.active_count()
    server = make()
    server.start(endpoint)
    call(endpoint)
    server.stop()
    server.stop()
    assert not Path(endpoint.path).exists()
    assert server.endpoint is None
    names = [t.name for t in threading.enumerate() if t.name.startswith("refimpl")]
    assert names == []
    assert threading.active_count() <= threads + 1  # grpc's own, on its way out


def test_a_stopped_server_can_start_again_at_the_same_path(
    make: Callable[..., Server], endpoint: Endpoint
) -> None:
    """A restarted driver; the old server must not remove the new one's socket."""
    server = make()
    for _ in range(5):
        server.start(endpoint)
        assert call(endpoint) == csi_pb2.ProbeResponse()
        server.stop(0)
    assert len(server.journal.calls("Probe")) == 5


def test_starting_twice_is_an_error(make: Callable[..., Server], endpoint: Endpoint) -> None:
    """Two sockets of one server would be stopped as one."""
    server = make()
    server.start(endpoint)
    with pytest.raises(RuntimeError, match=r"listens at unix://.* already: stop it"):
        server.start(endpoint)


def test_leaving_the_block_stops(endpoint: Endpoint) -> None:
    """A server without services is still one."""
    with Server({}) as server:
        server.start(endpoint)
        assert probe(endpoint) == "live"
    assert probe(endpoint) == "absent"


def test_stopping_ends_open_streams_at_once(
    make: Callable[..., Server], endpoint: Endpoint
) -> None:
    """Their callers learn why, and the implementation gets to clean up."""
    service = Watched()
    server = make(service)
    server.start(endpoint)
    with grpc.insecure_channel(endpoint.target) as channel:
        stub = csi_pb2_grpc.SnapshotMetadataStub(channel)
        replies = stub.GetMetadataAllocated(csi_pb2.GetMetadataAllocatedRequest(), timeout=WAIT_S)
        assert service.events.get(timeout=WAIT_S) == "open"
        assert next(replies) == csi_pb2.GetMetadataAllocatedResponse()
        server.stop(WAIT_S)
        assert service.events.get_nowait() == "closed"
        with pytest.raises(grpc.RpcError, match="the server is stopping"):
            next(replies)
    (entry,) = server.journal.entries
    assert (entry.code.name, entry.message) == ("UNAVAILABLE", "the server is stopping")


def test_stopping_does_not_wait_for_an_implementation_that_never_returns(
    make: Callable[..., Server], endpoint: Endpoint
) -> None:
    """Its caller is cut off after the grace."""
    go, entered = threading.Event(), threading.Event()

    class Stuck(Identity):
        def Probe(self, *_: Any) -> csi_pb2.ProbeResponse:
            entered.set()
            go.wait(WAIT_S)
            return csi_pb2.ProbeResponse()

    server = make(Stuck())
    server.start(endpoint)
    with grpc.insecure_channel(endpoint.target) as channel:
        stuck = csi_pb2_grpc.IdentityStub(channel).Probe.future(
            csi_pb2.ProbeRequest(), timeout=WAIT_S
        )
        assert entered.wait(WAIT_S)
        server.stop(0)
        assert isinstance(stuck.exception(), grpc.RpcError)
    go.set()


def test_a_cut_connection_is_noticed_and_the_next_one_works(
    make: Callable[..., Server], endpoint: Endpoint
) -> None:
    """The fault rule stands for a pulled plug, not for a dead server."""
    make(faults=Faults([FaultRule(id="plug", times=1, do=Close())])).start(endpoint)
    with pytest.raises(grpc.RpcError) as caught:
        call(endpoint)
    error: Any = caught.value
    assert error.code() == grpc.StatusCode.UNAVAILABLE
    assert call(endpoint) == csi_pb2.ProbeResponse()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        bytes(range(256)) * 16,
        PREFACE[:10],
        PREFACE,
        PREFACE + b"\0\0\x04\x01" + b"\xff" * 100,
        b"",
    ],
    ids=["HTTP/1", "noise", "half a preface", "preface alone", "a broken frame", "nothing"],
)
def test_bytes_that_are_no_grpc_harm_nobody_else(
    make: Callable[..., Server], endpoint: Endpoint, sent: bytes
) -> None:
    """Port scanners, curl and crashed clients; while one hangs half open others are served."""
    make().start(endpoint)
    with socket.socket(socket.AF_UNIX) as rude:
        rude.connect(endpoint.path)
        rude.sendall(sent)
        assert call(endpoint) == csi_pb2.ProbeResponse()
    assert call(endpoint) == csi_pb2.ProbeResponse()


def test_a_stream_of_requests_is_refused_when_the_server_is_made() -> None:
    """No node interface has one, so nothing here could have tested it."""
    method = descriptor_pb2.MethodDescriptorProto(
        name="Up", input_type=".t.M", output_type=".t.M", client_streaming=True
    )
    file = descriptor_pb2.FileDescriptorProto(
        name="t.proto",
        package="t",
        message_type=[descriptor_pb2.DescriptorProto(name="M")],
        service=[descriptor_pb2.ServiceDescriptorProto(name="S", method=[method])],
    )
    pool = DescriptorPool()
    pool.Add(file)
    service = pool.FindServiceByName("t.S")
    with pytest.raises(TypeError, match=r"t\.S\.Up: streams of requests cannot be served"):
        Server({service: object()})
