"""A stream delivers what it yields, ends with a status, and never holds anybody else up."""

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from refimpl.csi.api import csi_pb2
from refimpl.wire.faults import Delay, EndStream, FaultRule, Faults
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

WAIT_S = 10.0
Serve = Callable[..., Any]


def created(request: csi_pb2.CreateVolumeRequest, _call: Call) -> csi_pb2.CreateVolumeResponse:
    return csi_pb2.CreateVolumeResponse(volume=csi_pb2.Volume(volume_id=f"id-{request.name}"))


def blocks(count: int) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
    for size in range(count):
        yield csi_pb2.GetMetadataAllocatedResponse(volume_capacity_bytes=size)


def sizes(replies: Any) -> list[int]:
    message = csi_pb2.GetMetadataAllocatedResponse
    return [message.FromString(reply).volume_capacity_bytes for reply in replies]


def test_a_delay_on_a_stream_holds_nobody_else(serve: Serve) -> None:
    """The delayed stream comes late, and a call made meanwhile is served."""
    rule = FaultRule(id="d", method="Get*", do=Delay(seconds=60))
    faults = Faults([rule])
    wire = serve(created, lambda *_: blocks(2), faults=faults, unary_threads=1)
    late = wire.stream()
    assert wire.create(name="a").volume.volume_id == "id-a"
    faults.clear()
    assert sizes(late) == [0, 1]


def test_a_stream_delivers_its_messages_and_is_recorded_at_its_end(
    serve: Serve,
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
    serve: Serve,
) -> None:
    """Event streams of a runtime go on for days."""
    wire = serve(None, lambda *_: blocks(1005))
    assert len(sizes(wire.stream())) == 1005
    replies: Any = wire.entry().replies
    assert [reply.volume_capacity_bytes for reply in replies] == list(range(5, 1005))


@pytest.mark.parametrize(
    ("raised", "code"), [(Refused(Code.NOT_FOUND, "gone"), "NOT_FOUND"), (OSError(5), "INTERNAL")]
)
def test_a_stream_may_end_with_a_status(
    serve: Serve,
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
    assert wire.refusal(lambda: next(replies))[0] == code
    assert wire.entry().code.name == code
    assert ("bug in" in capfd.readouterr().err) == (code == "INTERNAL")


def test_a_fault_may_end_a_stream(serve: Serve) -> None:
    """As if complete, or with a status; the implementation is closed."""
    closed: SimpleQueue[str] = SimpleQueue()

    def stream(*_: Any) -> Iterator[csi_pb2.GetMetadataAllocatedResponse]:
        try:
            yield from blocks(100)
        finally:
            closed.put("closed")

    rule = FaultRule(id="cut", do=EndStream(messages=2))
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
    serve: Serve,
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


def test_a_stream_whose_deadline_passes_is_recorded_as_such(serve: Serve) -> None:
    """Kubelet's own deadline, not a caller that went away."""
    events: SimpleQueue[str] = SimpleQueue()
    wire = serve(None, waiting(events))
    assert wire.refusal(lambda: list(wire.stream(timeout=0.3)))[0] == "DEADLINE_EXCEEDED"
    assert [events.get(timeout=WAIT_S) for _ in range(2)] == ["open", "closed"]
    wire.server.stop(WAIT_S)
    assert wire.entry().code == Code.DEADLINE_EXCEEDED


def test_an_endless_stream_is_closed_when_nobody_reads_it(serve: Serve) -> None:
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


def test_open_streams_never_starve_unary_calls(serve: Serve) -> None:
    """Every kubelet holds some open for as long as it runs."""
    events: SimpleQueue[str] = SimpleQueue()
    wire = serve(created, waiting(events), unary_threads=1)
    streams = [wire.stream() for _ in range(16)]
    assert [events.get(timeout=WAIT_S) for _ in streams] == ["open"] * 16
    assert wire.create(name="a").volume.volume_id == "id-a"


def test_one_stream_too_many_is_refused_at_once(serve: Serve) -> None:
    """It would wait for a thread without a word; and it is served when one has ended."""
    events: SimpleQueue[str] = SimpleQueue()
    wire = serve(None, waiting(events), stream_threads=1)
    first = wire.stream()
    assert events.get(timeout=WAIT_S) == "open"
    code, message = wire.refusal(lambda: list(wire.stream()))
    assert code == "RESOURCE_EXHAUSTED"
    assert message.startswith("1 streams are open")
    first.cancel()
    assert events.get(timeout=WAIT_S) == "closed"
