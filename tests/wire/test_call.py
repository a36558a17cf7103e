"""An implementation learns who calls, with how much time, and when the caller has gone."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from refimpl.csi.api import csi_pb2, csi_pb2_grpc
from refimpl.wire.call import Call, Serving
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal
from refimpl.wire.pool import Pool
from refimpl.wire.server import Server
from refimpl.wire.status import Code, Refused

WAIT_S = 10.0
REQUEST = csi_pb2.ProbeRequest()
Probe = Callable[[Any, Call], Any]


@pytest.fixture
def serve() -> Iterator[Callable[..., Any]]:
    """Serves an implementation of Probe over TCP; returns plain grpc's way to call it."""
    with ExitStack() as stack:

        def start(probe: Probe, **options: Any) -> Any:
            identity = csi_pb2.DESCRIPTOR.services_by_name["Identity"]
            server = Server({identity: SimpleNamespace(Probe=probe)}, **options)
            stack.callback(server.stop, 0)
            endpoint = server.start(Endpoint.parse("tcp://127.0.0.1:0"))
            channel = stack.enter_context(grpc.insecure_channel(endpoint.target))
            called = csi_pb2_grpc.IdentityStub(channel).Probe
            called.server = server  # type: ignore[attr-defined]
            return called

        yield start


def test_a_call_knows_its_caller(serve: Callable[..., Any]) -> None:
    """Method, address, deadline and headers, as the caller sent them."""
    calls: list[Call] = []
    facts: list[Any] = []

    def probe(_request: Any, call: Call) -> Any:
        calls.append(call)
        facts.extend([call.peer, dict(call.metadata)["x-run"], call.cancelled()])
        return csi_pb2.ProbeResponse()

    serve(probe)(REQUEST, timeout=WAIT_S, metadata=(("x-run", "7"),))
    (call,) = calls
    assert call.method == "/csi.v1.Identity/Probe"
    assert call.deadline_s == pytest.approx(WAIT_S, abs=5)
    assert facts[0].startswith("ipv4:127.0.0.1:")
    assert facts[1:] == ["7", False]


def test_a_call_without_a_deadline_says_so(serve: Callable[..., Any]) -> None:
    """Judging a client means telling "none" from "very long"."""
    remaining: list[float | None] = []

    def probe(_request: Any, call: Call) -> Any:
        remaining.append(call.deadline_s)
        return csi_pb2.ProbeResponse()

    serve(probe)(REQUEST)
    assert remaining == [None]


def waiting(events: "SimpleQueue[str]", over: threading.Event) -> Probe:
    """Waits until it is cancelled."""

    def probe(_request: Any, call: Call) -> Any:
        call.on_cancel(over.set)
        events.put("waits")
        assert over.wait(WAIT_S)
        events.put(f"cancelled: {call.cancelled()}")
        call.on_cancel(lambda: events.put("told at once"))
        return csi_pb2.ProbeResponse()

    return probe


@pytest.mark.parametrize("way", ["cancelled by its caller", "past its deadline"])
def test_a_waiting_call_is_told_when_nobody_waits_for_it(
    serve: Callable[..., Any], way: str
) -> None:
    """Also one that asks only after it happened."""
    events: SimpleQueue[str] = SimpleQueue()
    called = serve(waiting(events, threading.Event()))
    future = called.future(REQUEST, timeout=0.2 if way == "past its deadline" else WAIT_S)
    assert events.get(timeout=WAIT_S) == "waits"
    if way == "cancelled by its caller":
        future.cancel()
    outcomes = [events.get(timeout=WAIT_S) for _ in range(2)]
    assert outcomes == ["cancelled: True", "told at once"]


def test_a_call_that_asks_too_late_is_told_at_once(serve: Callable[..., Any]) -> None:
    """The caller may leave before the implementation gets to ask."""
    entered, left, notified = threading.Event(), threading.Event(), threading.Event()

    def probe(_request: Any, call: Call) -> Any:
        call._context.add_callback(left.set)
        entered.set()
        assert left.wait(WAIT_S)
        call.on_cancel(notified.set)
        return csi_pb2.ProbeResponse()

    future = serve(probe).future(REQUEST, timeout=WAIT_S)
    assert entered.wait(WAIT_S)
    future.cancel()
    assert notified.wait(WAIT_S)


def test_no_stream_is_opened_while_the_server_stops(serve: Callable[..., Any]) -> None:
    """It would miss the sign to end."""
    calls: list[Call] = []

    def probe(_request: Any, call: Call) -> Any:
        calls.append(call)
        return csi_pb2.ProbeResponse()

    serve(probe)(REQUEST)
    pool = Pool(1)
    serving = Serving(Journal(), Faults(), 1, pool)
    serving.stop()
    with pytest.raises(Refused, match="the server is stopping"):
        serving.streaming(calls[0]).__enter__()
    pool.shutdown(WAIT_S)


def test_a_call_that_ends_by_itself_was_not_cancelled(serve: Callable[..., Any]) -> None:
    """grpc tells of both ends alike; whoever cleans up on cancelling must not do so on success."""
    cancellations: list[str] = []
    ended = threading.Event()

    def probe(_request: Any, call: Call) -> Any:
        call.on_cancel(lambda: cancellations.append("cancelled"))
        call._context.add_callback(ended.set)
        return csi_pb2.ProbeResponse()

    serve(probe)(REQUEST, timeout=WAIT_S)
    assert ended.wait(WAIT_S)
    assert cancellations == []


def test_the_end_of_a_call_is_told_however_it_ends(serve: Callable[..., Any]) -> None:
    """What must not be seen before the answer waits for this."""
    ended: SimpleQueue[str] = SimpleQueue()

    def probe(_request: Any, call: Call) -> Any:
        call.on_end(lambda: ended.put("over"))
        call.on_end(lambda: ended.put("over for others, too"))
        if dict(call.metadata).get("x-fail"):
            raise Refused(Code.ABORTED, "as asked")
        return csi_pb2.ProbeResponse()

    called = serve(probe)
    called(REQUEST, timeout=WAIT_S)
    assert ended.get(timeout=WAIT_S) == "over"
    assert ended.get(timeout=WAIT_S) == "over for others, too"
    with pytest.raises(grpc.RpcError):
        called(REQUEST, timeout=WAIT_S, metadata=(("x-fail", "1"),))
    assert ended.get(timeout=WAIT_S) == "over"


def test_a_long_wait_takes_no_thread_from_others(serve: Callable[..., Any]) -> None:
    """A fake runtime waits for real processes inside its calls."""
    go, second = threading.Event(), threading.Event()

    def probe(_request: Any, call: Call) -> Any:
        if dict(call.metadata).get("x-wait"):
            with call.waiting():
                assert go.wait(WAIT_S)
        else:
            second.set()
        return csi_pb2.ProbeResponse()

    called = serve(probe, unary_threads=1)
    slow = called.future(REQUEST, timeout=WAIT_S, metadata=(("x-wait", "1"),))
    called(REQUEST, timeout=WAIT_S)
    assert second.is_set()
    go.set()
    assert slow.result() == csi_pb2.ProbeResponse()
