"""Which breaches a call commits: the fault rules of the settings, counted across processes."""

from __future__ import annotations

import os

from refimpl.cni.plugins.json import dumps, parse_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Rule = dict[str, Any]

__all__ = ["chosen", "counted"]


def chosen(settings: dict[str, Any], environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The knobs of this call with their arguments, by name."""
    knobs: dict[str, dict[str, Any]] = {}
    for place, rule in enumerate(settings.get("faults") or ()):
        if _fits(rule, environ) and _due(settings, place, rule):
            knobs[rule["do"]] = rule
    return knobs


def _fits(rule: Rule, environ: Mapping[str, str]) -> bool:
    verb = rule.get("verb", "*")
    if verb not in ("*", environ.get("CNI_COMMAND", "")):
        return False
    wanted = rule.get("match", {})
    return all(environ.get(name, "") == value for name, value in wanted.items())


def _due(settings: dict[str, Any], place: int, rule: Rule) -> bool:
    nth, times = rule.get("nth"), rule.get("times")
    if nth is None and times is None:
        return True
    count = counted(settings, f"fault {place} {rule['do']}")
    first = nth or 1
    return bool(first <= count < first + (1 if times is None else times))


def counted(settings: dict[str, Any], what: str) -> int:
    """How many times this was asked, 1 for the first: in the file that the settings name, or in
    the settings themselves. Raises OSError."""
    path = settings.get("counts")
    if not path:
        counts = settings.setdefault("counted", {})
        counts[what] = counts.get(what, 0) + 1
        return int(counts[what])
    import fcntl

    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        known = os.read(file, 1 << 20)
        counts = parse_object(known) if known else {}
        counts[what] = counts.get(what, 0) + 1
        data = dumps(counts)
        os.pwrite(file, data, 0)
        os.ftruncate(file, len(data))
    finally:
        os.close(file)
    return int(counts[what])
