"""A channel gives every call a deadline and a record, and says why a target is out of reach."""

import math
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from refimpl.csi.api import csi_pb2, csi_pb2_grpc
from refimpl.wire.client import Channel, Unreachable, timeout_factor
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.server import Call, Server
from refimpl.wire.status import Code, Refused

WAIT_S = 10.0
IDENTITY = csi_pb2.DESCRIPTOR.services_by_name["Identity"]
REQUEST = csi_pb2.ProbeRequest()


def ready(_request: Any, _call: Call) -> csi_pb2.ProbeResponse:
    return csi_pb2.ProbeResponse()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Endpoint]]:
    """Serves this implementation of Probe."""
    with ExitStack() as stack:

        def start(probe: Any = ready, where: str | None = None) -> Endpoint:
            server = Server({IDENTITY: SimpleNamespace(Probe=probe)})
            stack.callback(server.stop, 0)
            return server.start(Endpoint.parse(where or tmp_path / "s"))

        yield start


def deadlines(serve: Callable[..., Endpoint], **options: Any) -> Callable[..., float | None]:
    """Makes calls with these channel options; returns what deadline arrives for a timeout."""
    observed: list[float | None] = []

    def probe(_request: Any, call: Call) -> csi_pb2.ProbeResponse:
        observed.append(call.deadline_s)
        return csi_pb2.ProbeResponse()

    endpoint = serve(probe)

    def call(**timeout: float) -> float | None:
        with Channel(endpoint, **options) as channel:
            csi_pb2_grpc.IdentityStub(channel).Probe(REQUEST, **timeout)
        return observed[-1]

    return call


def test_a_call_without_a_timeout_has_the_channels_deadline(
    serve: Callable[..., Endpoint],
) -> None:
    """A suite that hangs on a hanging driver tells nobody anything."""
    call = deadlines(serve, deadline_s=100.0)
    assert call() == pytest.approx(100, abs=20)
    assert call(timeout=1000.0) == pytest.approx(1000, abs=20)
    assert call(timeout=math.inf) is None


def test_the_usual_deadline_is_a_minute(serve: Callable[..., Endpoint]) -> None:
    """Kubelet gives a CSI call two."""
    assert deadlines(serve)() == pytest.approx(60, abs=20)


def test_the_factor_scales_every_deadline(
    serve: Callable[..., Endpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow machines set it once for the whole run."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "3")
    call = deadlines(serve, deadline_s=100.0)
    assert call() == pytest.approx(300, abs=20)
    assert call(timeout=200.0) == pytest.approx(600, abs=20)


@pytest.mark.parametrize("given", ["fast", "0", "-1", "nan", "inf"])
def test_a_factor_that_is_no_positive_number_is_named(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would make every call fail, or wait for ever."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", given)
    with pytest.raises(ValueError, match=f"REFIMPL_TIMEOUT_FACTOR='{given}' is not a number"):
        timeout_factor()


def test_without_a_factor_deadlines_are_as_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset and empty are the same in CI files."""
    monkeypatch.delenv("REFIMPL_TIMEOUT_FACTOR", raising=False)
    assert timeout_factor() == 1
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "")
    assert timeout_factor() == 1


def test_observers_see_each_call_after_the_journal(serve: Callable[..., Endpoint]) -> None:
    """Judges rely on the number that the journal gives."""
    journal, observed = Journal(), list[Entry]()
    with Channel(serve(), journal=journal, observers=[observed.append, observed.append]) as channel:
        csi_pb2_grpc.IdentityStub(channel).Probe(REQUEST)
    assert observed == [*journal.entries, *journal.entries]
    assert observed[0].seq == 1


def test_a_channel_without_journal_just_calls(serve: Callable[..., Endpoint]) -> None:
    """The shortest use."""
    with Channel(serve()) as channel:
        assert csi_pb2_grpc.IdentityStub(channel).Probe(REQUEST) == csi_pb2.ProbeResponse()


@pytest.mark.parametrize("where", [None, "tcp://127.0.0.1:0", "tcp://localhost:0"])
def test_the_authority_is_one_that_every_server_takes(
    serve: Callable[..., Endpoint], where: str | None
) -> None:
    """Servers written in Go close the connection on a path in it."""
    observed: list[str] = []

    def probe(_request: Any, call: Call) -> csi_pb2.ProbeResponse:
        host = call._context._rpc_event.call_details.host  # type: ignore[attr-defined]
        observed.append(host.decode())
        return csi_pb2.ProbeResponse()

    endpoint = serve(probe, where)
    with Channel(endpoint) as channel:
        csi_pb2_grpc.IdentityStub(channel).Probe(REQUEST)
    assert observed == [endpoint.address if where else "localhost"]


def test_replies_of_16_mib_are_taken_and_larger_ones_refused() -> None:
    """A full node's list of containers is larger than gRPC's usual 4 MiB."""
    size = 16 * 1024 * 1024 - 100

    class Plain(grpc.GenericRpcHandler):
        def service(self, _details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(lambda data, _: b"x" * int(data))

    server = grpc.server(ThreadPoolExecutor(1), handlers=[Plain()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Channel(Endpoint("tcp", host="127.0.0.1", port=port)) as channel:
        call = channel.unary_unary("/t.Big/Get")
        assert len(call(b"%d" % size)) == size
        with pytest.raises(Refused, match="RESOURCE_EXHAUSTED"):
            call(b"%d" % (size + 200))
    server.stop(0).wait()


def test_a_call_to_nobody_is_refused_as_unavailable(tmp_path: Path) -> None:
    """At once: no retry, no waiting for the deadline."""
    with (
        Channel(Endpoint.parse(tmp_path / "none")) as channel,
        pytest.raises(Refused) as caught,
    ):
        csi_pb2_grpc.IdentityStub(channel).Probe(REQUEST)
    assert caught.value.code == Code.UNAVAILABLE


def test_a_restarted_server_is_found_again(tmp_path: Path) -> None:
    """Drivers are restarted under a kubelet that keeps its channel."""
    where = Endpoint.parse(tmp_path / "again")
    server = Server({IDENTITY: SimpleNamespace(Probe=ready)})
    with Channel(where) as channel:
        stub = csi_pb2_grpc.IdentityStub(channel)
        for _ in range(3):
            server.start(where)
            channel.wait_ready(WAIT_S)
            assert stub.Probe(REQUEST) == csi_pb2.ProbeResponse()
            server.stop(0)


def test_readiness_waits_for_a_server_that_is_still_starting(
    serve: Callable[..., Endpoint], tmp_path: Path
) -> None:
    """The usual race of a suite that starts its target."""
    late = threading.Timer(0.05, serve)
    late.start()
    with Channel(Endpoint.parse(tmp_path / "s")) as channel:
        channel.wait_ready(WAIT_S)
        assert csi_pb2_grpc.IdentityStub(channel).Probe(REQUEST) == csi_pb2.ProbeResponse()
    late.join(WAIT_S)


def test_a_target_that_never_comes_is_unreachable_in_one_sentence(tmp_path: Path) -> None:
    """Endpoint first, then the reason and what to do."""
    endpoint = Endpoint.parse(tmp_path / "none")
    with Channel(endpoint) as channel, pytest.raises(Unreachable) as caught:
        channel.wait_ready(0.1)
    assert str(caught.value) == (
        f"{endpoint}: there is no such file: start the server, or correct the path"
    )


def test_what_can_never_answer_is_unreachable_at_once(tmp_path: Path) -> None:
    """A minute's wait for a plain file would be a minute lost."""
    (tmp_path / "file").write_text("")
    with (
        Channel(Endpoint.parse(tmp_path / "file")) as channel,
        pytest.raises(Unreachable, match="is no socket"),
    ):
        channel.wait_ready(3600)


def test_a_server_that_greets_and_then_hangs_is_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passed the first look, and grpc still gets no connection."""
    monkeypatch.setattr("refimpl.wire.client.obstacle", lambda *_: None)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "s"))
        deaf.listen()
        with (
            Channel(Endpoint.parse(tmp_path / "s")) as channel,
            pytest.raises(Unreachable, match=r"gRPC got no connection within 0\.1 s"),
        ):
            channel.wait_ready(0.1)


def test_connectivity_can_be_watched_as_on_any_channel(serve: Callable[..., Endpoint]) -> None:
    """`grpc.channel_ready_future` and its like take the channel for one of grpc's."""
    with Channel(serve()) as channel:
        grpc.channel_ready_future(channel).result(timeout=WAIT_S)
        assert isinstance(channel, grpc.Channel)


def test_a_connection_may_take_its_time(serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    """A busy server answers late that it speaks HTTP/2; the call waits, it is not refused."""
    server = serve()
    with socket.socket(socket.AF_UNIX) as late, ThreadPoolExecutor(3) as threads:
        late.bind(str(tmp_path / "late"))
        late.listen()

        def accept() -> None:
            threading.Event().wait(0.3)
            near, _ = late.accept()
            far = socket.socket(socket.AF_UNIX)
            far.connect(server.path)
            threads.submit(pump, near, far)
            threads.submit(pump, far, near)

        threads.submit(accept)
        with Channel(Endpoint.parse(tmp_path / "late")) as channel:
            reply = csi_pb2_grpc.IdentityStub(channel).Probe(REQUEST, timeout=WAIT_S)
    assert reply == csi_pb2.ProbeResponse()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Passes bytes on until one side hangs up."""
    with source:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
