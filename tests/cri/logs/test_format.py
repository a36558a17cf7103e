"""The CRI log format."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest

from refimpl.cri.logs.format import LONGEST, Records

_LINE = re.compile(rb"(1970-01-01T00:00:01\.000000007Z) (stdout|stderr) ([PF]) (.*)", re.DOTALL)
NOW = 1_000_000_007


def parts(records: bytes) -> list[tuple[str, str, bytes]]:
    """Stream, tag and content of each record."""
    lines = records.split(b"\n")
    assert lines.pop() == b""
    matches = [_LINE.fullmatch(line) for line in lines]
    assert all(matches)
    return [(each[2].decode(), each[3].decode(), each[4]) for each in matches if each]


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (b"a\n", [("F", b"a")]),
        (b"\n\n", [("F", b""), ("F", b"")]),
        (b"a\0\xff\n", [("F", b"a\0\xff")]),
        (b"a\r\n", [("F", b"a\r")]),
        (b"a\nb", [("F", b"a"), ("P", b"b")]),
        (b"x" * LONGEST + b"\n", [("F", b"x" * LONGEST)]),
        (b"x" * LONGEST + b"y\n", [("P", b"x" * LONGEST), ("F", b"y")]),
        (b"x" * LONGEST + b"y", [("P", b"x" * LONGEST), ("P", b"y")]),
        (b"", []),
    ],
)
def test_what_is_written_is_cut_into_records(
    written: bytes, wanted: list[tuple[str, bytes]]
) -> None:
    """However it comes: at once, or byte by byte where that is not too long."""
    records = Records()
    whole = records.add("stdout", written, NOW) + records.end(NOW)
    assert parts(whole) == [("stdout", *each) for each in wanted]
    pieces = [written[place : place + 100] for place in range(0, len(written), 100)]
    assert b"".join(records.add("stdout", each, NOW) for each in pieces) + records.end(NOW) == whole


def test_no_byte_is_lost_or_moved_to_the_other_stream() -> None:
    """Each stream is put together again from its records, as readers do: P goes on, F ends."""
    source = random.Random(7)
    whole = {name: source.randbytes(3 * LONGEST) for name in ("stdout", "stderr")}
    records, log = Records(), b""
    cuts = sorted(source.sample(range(1, 3 * LONGEST), 40))
    for start, end in pairwise([0, *cuts, 3 * LONGEST]):
        for stream, written in whole.items():
            log += records.add(stream, written[start:end], NOW)
    log += records.end(NOW)
    again = {"stdout": b"", "stderr": b""}
    for stream, tag, content in parts(log):
        assert len(content) <= LONGEST
        again[stream] += content + (b"\n" if tag == "F" else b"")
    assert again == whole


def test_a_carriage_return_before_a_line_feed_may_be_dropped() -> None:
    """As containerd does; elsewhere it stays."""
    records = Records(bare_lines=True)
    assert parts(records.add("stderr", b"a\rb\r\n", NOW)) == [("stderr", "F", b"a\rb")]
