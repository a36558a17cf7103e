"""Text as reports may show it. What a target says is hostile until shown otherwise."""

from __future__ import annotations

import json
import re
from typing import Any

# What XML 1.0 forbids, the C1 controls that terminals obey, and marks that reverse what is read.
_UNPRINTABLE = re.compile(
    "[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
# `6.2 `, `(a) `, `3a. ` in front of a section, ` (CRI-SB)` or ` -- DRA-ALLOC (...)` behind it.
_NUMBER = re.compile(r"(\(\w\)|\d+[a-z]?(\.\d+)*\.?)\s+")
_ASIDE = re.compile(r" [(—]|: ")


def printable(text: str) -> str:
    r"""The text with every character no report may hold spelled out, an escape as `\x1b`."""
    return _UNPRINTABLE.sub(
        lambda match: match[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n")
    )


def one_line(text: str, width: int = 0) -> str:
    """Printable, on one line, and at most `width` characters long unless that is 0."""
    line = " ".join(printable(text).split())
    return line if not width or len(line) <= width else f"{line[: max(width - 3, 0)].rstrip()}..."


def capped(text: str, limit: int) -> str:
    """At most `limit` characters; what is left out is counted and can be found in the events."""
    text = printable(text)
    left = len(text) - limit
    return text if left <= 0 else f"{text[:limit]}\n[{left} more characters in events.jsonl]"


def as_json(value: Any, *, indent: int | None = None) -> str:
    """JSON on one line, or indented for reading; what JSON cannot say is written as text."""
    return json.dumps(value, ensure_ascii=False, default=str, indent=indent)


def sketch(value: Any, width: int) -> str:
    """A message on one line of at most `width` characters: what lies deepest is left out first.

    Its outer braces go as well: `volume: {volume_id: "vol-1"}`.
    """
    for depth in (99, 3, 2, 1):
        line = one_line(_sketch(value, depth))
        line = line[1:-1] if isinstance(value, dict) else line
        if len(line) <= width:
            return line
    return one_line(line, width)


def _sketch(value: Any, depth: int) -> str:
    if isinstance(value, dict) and value:
        inner = ", ".join(f"{key}: {_sketch(part, depth - 1)}" for key, part in value.items())
        return f"{{{inner if depth else '...'}}}"
    if isinstance(value, list) and value:
        return f"[{', '.join(_sketch(part, depth - 1) for part in value) if depth else '...'}]"
    return as_json(value)


def heading(section: str) -> str:
    """The name of a contract section without its number and asides; `Other` for none."""
    bare = _NUMBER.sub("", section, count=1) if _NUMBER.match(section) else section
    return one_line(_ASIDE.split(bare, maxsplit=1)[0], 100) or one_line(section, 100) or "Other"


def duration(seconds: float) -> str:
    """`12 ms`, `4.2 s` or `3 min 5 s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def count(number: int, one: str, many: str = "") -> str:
    """`1 case`, `2 cases`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
