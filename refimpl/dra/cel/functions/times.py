"""Timestamps and durations. Source: CEL language definition, "Timestamps and Durations"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.tables import Table
from refimpl.dra.cel.values import INT_MAX, INT_MIN, SECOND, Duration, Timestamp

__all__ = ["TIMES", "duration", "duration_text", "timestamp", "timestamp_text"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": SECOND} | {
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_FIRST, _LAST = -62135596800 * SECOND, 253402300800 * SECOND - 1
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


def duration(text: str) -> Duration:
    """As Go writes it: 1h30m, -1.5s, 0. Raises EvaluationError."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    while match := _PART.match(rest, at):
        whole, fraction, unit = match[1], match[2] or "", _UNITS[match[3]]
        if not whole and not fraction:
            break
        total += int(whole or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        at = match.end()
    if not rest or at != len(rest) or not INT_MIN <= sign * total <= INT_MAX:
        raise EvaluationError(f"{text!r} is no duration, such as 1h30m or 1.5s")
    return Duration(sign * total)


def timestamp(text: str) -> Timestamp:
    """RFC 3339. Raises EvaluationError."""
    match = _STAMP.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        zone = match[4].replace("Z", "+00:00")
        moment = datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}")
    except ValueError:
        raise EvaluationError(f"{text!r} is no timestamp, such as 2026-01-31T12:00:00Z") from None
    seconds = round((moment - _EPOCH).total_seconds())
    return _bounded(seconds * SECOND + int((match[3] or "0")[:9].ljust(9, "0")))


def _bounded(ns: int) -> Timestamp:
    if not _FIRST <= ns <= _LAST:
        raise EvaluationError("timestamp overflow: years are 1 to 9999")
    return Timestamp(ns)


def duration_text(value: Duration) -> str:
    """Seconds, such as 1.5s."""
    whole, part = divmod(abs(value.ns), SECOND)
    sign = "-" if value.ns < 0 else ""
    return f"{sign}{whole}" + (f".{part:09d}".rstrip("0") if part else "") + "s"


def timestamp_text(value: Timestamp) -> str:
    """RFC 3339 in UTC."""
    seconds, part = divmod(value.ns, SECOND)
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return text + (f".{part:09d}".rstrip("0") if part else "") + "Z"


def _zone(name: str) -> tzinfo:
    if match := _OFFSET.fullmatch(name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise EvaluationError(f"{name!r} is no time zone") from None


def _moment(value: Timestamp, zone: str = "UTC") -> datetime:
    return (_EPOCH + timedelta(microseconds=value.ns // 1000)).astimezone(_zone(zone))


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda value, zone="UTC": read(_moment(value, zone))


def _shortened(value: Duration, unit: int) -> int:
    return value.ns // unit if value.ns >= 0 else -(-value.ns // unit)


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}

TIMES: Table = {
    **{f"timestamp::{name}() int": _part(read) for name, read in _PARTS.items()},
    **{f"timestamp::{name}(string) int": _part(read) for name, read in _PARTS.items()},
    "duration::getHours() int": lambda value: _shortened(value, 3600 * SECOND),
    "duration::getMinutes() int": lambda value: _shortened(value, 60 * SECOND),
    "duration::getSeconds() int": lambda value: _shortened(value, SECOND),
    "duration::getMilliseconds() int": lambda value: _shortened(value, SECOND // 1000),
}
