"""Two sides that talk through bytes alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.streaming.spdy import (
    Broken,
    Closed,
    Data,
    GoneAway,
    Opened,
    Pong,
    Replied,
    Reset,
    Session,
    Status,
)
from refimpl.streaming.spdy.frames import Control, Kind

ERROR = {"streamtype": ("error",)}


def pair() -> tuple[Session, Session]:
    return Session(client=True), Session(client=False)


def stream(client: Session, server: Session) -> int:
    """A stream that both sides know."""
    id = client.open(ERROR)
    server.feed(client.take())
    server.accept(id)
    assert client.feed(server.take()) == [Replied(id, {})]
    return id


def test_a_stream_is_opened_and_answered() -> None:
    client, server = pair()
    assert client.open(ERROR) == 1
    assert server.feed(client.take()) == [Opened(1, ERROR)]
    server.accept(1)
    assert client.feed(server.take()) == [Replied(1, {})]
    assert [client.open(ERROR), client.open(ERROR)] == [3, 5]
    assert server.open(ERROR) == 2


def test_a_direction_that_is_closed_leaves_the_other_open() -> None:
    client, server = pair()
    id = stream(client, server)
    assert client.send(id, b"in", fin=True)
    assert server.feed(client.take()) == [Data(id, b"in"), Closed(id)]
    assert not client.send(id, b"more")
    assert server.writable(id)
    assert server.send(id, b"out")
    assert server.send(id, b"", fin=True)
    assert client.feed(server.take()) == [Data(id, b"out"), Closed(id)]
    assert not server.writable(id)


def test_a_stream_that_is_reset_is_gone_for_both() -> None:
    client, server = pair()
    id = stream(client, server)
    client.send(id, b"crosses")
    server.reset(id, Status.REFUSED_STREAM)
    server.reset(id)  # once more is nothing
    assert client.feed(server.take()) == [Reset(id, Status.REFUSED_STREAM)]
    assert server.feed(client.take()) == []
    assert not client.send(id, b"late")


def test_a_stream_opened_with_fin_says_nothing_more() -> None:
    client, server = pair()
    id = client.open(ERROR, fin=True)
    assert server.feed(client.take()) == [Opened(id, ERROR), Closed(id)]
    assert not client.writable(id)
    assert server.writable(id)


def test_pings_of_the_peer_come_back_and_answers_are_told() -> None:
    client, server = pair()
    assert client.ping() == 1
    assert server.feed(client.take()) == []
    assert client.feed(server.take()) == [Pong(1)]
    assert server.ping() == 2


def test_going_away_tells_the_last_stream_that_was_taken() -> None:
    client, server = pair()
    id = stream(client, server)
    server.go_away(2)
    assert client.feed(server.take()) == [GoneAway(id, 2)]


@pytest.mark.parametrize("id", [2, 1])
def test_a_stream_id_that_is_even_or_was_there_is_refused(id: int) -> None:
    client, server = pair()
    stream(client, server)
    late = Session(client=id % 2 == 1)
    late.open(ERROR)
    # The header block of another connection cannot be read, so this one has a connection's first.
    fresh = Session(client=False)
    if id == 1:
        fresh._last_of_peer = 1
    assert fresh.feed(late.take()) == []
    answer = Session(client=id % 2 == 1)
    answer.open(ERROR)
    assert answer.feed(fresh.take()) == [Reset(id, Status.PROTOCOL_ERROR)]


def test_settings_windows_and_unknown_frames_are_read_over() -> None:
    _, server = pair()
    for kind in (Kind.SETTINGS, Kind.WINDOW_UPDATE, 99):
        assert server.feed(Control(kind, 0, bytes(8)).encode()) == []
    assert server.take() == b""


def test_headers_that_nobody_uses_keep_the_compression_in_step() -> None:
    client, server = pair()
    id = client.open(ERROR)
    more = client._compressor.compress({"a": ("b",)})
    bare = client.take() + Control(Kind.HEADERS, 0, id.to_bytes(4, "big") + more).encode()
    client.open(ERROR)
    assert server.feed(bare + client.take()) == [Opened(1, ERROR), Opened(3, ERROR)]


def test_a_control_frame_that_is_too_short_is_broken() -> None:
    with pytest.raises(Broken, match="kind 6 has only 2 bytes"):
        Session(client=False).feed(Control(Kind.PING, 0, b"ab").encode())


@given(
    pieces=st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=40)), max_size=20),
    cuts=st.lists(st.integers(1, 30), min_size=1, max_size=10),
)
def test_what_is_sent_arrives_in_order_wherever_the_network_cuts(
    pieces: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    client, server = pair()
    ids = [client.open({"streamtype": (str(number),)}) for number in range(3)]
    for number, payload in pieces:
        client.send(ids[number], payload)
    sent, heard, at = client.take(), [], 0
    for turn in range(len(sent)):
        step = cuts[turn % len(cuts)]
        heard += server.feed(sent[at : at + step])
        at += step
    assert heard[:3] == [Opened(id, {"streamtype": (str(n),)}) for n, id in enumerate(ids)]
    assert heard[3:] == [Data(ids[number], payload) for number, payload in pieces if payload]
