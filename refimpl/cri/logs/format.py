"""The CRI log format: `<RFC 3339 time> <stdout|stderr> <P|F> <content>`, a line each."""

from __future__ import annotations

import time

__all__ = ["LONGEST", "Records"]

LONGEST = 16 << 10
"""Bytes of content in one record; what is longer goes on in the next (P: to be continued)."""

_NS = 1_000_000_000
_PARTIAL, _FINAL = b"P", b"F"


class Records:
    """Cuts what a container writes into records; a line that is not whole yet is kept, each stream
    for itself. bare_lines: a carriage return before a line feed is dropped."""

    def __init__(self, *, bare_lines: bool = False) -> None:
        self._rest: dict[str, bytes] = {}
        self._bare_lines = bare_lines

    def add(self, stream: str, written: bytes, now: int) -> bytes:
        """The records that are whole with this. now: ns since the epoch."""
        *lines, rest = (self._rest.get(stream, b"") + written).split(b"\n")
        head = _head(stream, now)
        records = [self._line(head, line) for line in lines]
        while len(rest) > LONGEST:
            records.append(_record(head, _PARTIAL, rest[:LONGEST]))
            rest = rest[LONGEST:]
        self._rest[stream] = rest
        return b"".join(records)

    def end(self, now: int) -> bytes:
        """What stands without a line feed at the end: it is never final."""
        rests, self._rest = self._rest, {}
        return b"".join(
            _record(_head(stream, now), _PARTIAL, rest) for stream, rest in rests.items() if rest
        )

    def _line(self, head: bytes, line: bytes) -> bytes:
        line = line.removesuffix(b"\r") if self._bare_lines else line
        starts = range(0, max(len(line), 1), LONGEST)
        *parts, last = (line[start : start + LONGEST] for start in starts)
        partial = b"".join(_record(head, _PARTIAL, part) for part in parts)
        return partial + _record(head, _FINAL, last)


def _record(head: bytes, tag: bytes, content: bytes) -> bytes:
    return b"%s %s %s\n" % (head, tag, content)


def _head(stream: str, now: int) -> bytes:
    seconds, ns = divmod(now, _NS)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{moment}.{ns:09d}Z {stream}".encode()
