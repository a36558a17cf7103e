"""Execs on record as a script plays them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.engine.events import CaseDone
from conformance.engine.options import BadOption

__all__ = ["record"]

_PLAYABLE = frozenset({"stdout", "umask", "kill_after_s", "gone"})


def record(done: CaseDone, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The execs with all that goes into them; raises BadOption for what is not on record, or takes
    more than a script has."""
    return {"plugin": calls[0]["peer"], "calls": [_exec(done, call) for call in calls]}


def _exec(done: CaseDone, call: Mapping[str, Any]) -> dict[str, Any]:
    conditions = dict(call.get("conditions") or {})
    if not str(call["peer"]).startswith("/"):  # an act of a runtime
        raise BadOption(f"{done.id}: {call['method']} is no exec; replay it without --script")
    if odd := sorted(conditions.keys() - _PLAYABLE):
        raise BadOption(f"{done.id}: no script has {odd[0]} for an exec; replay without --script")
    if call.get("stdin_left_out"):
        raise BadOption(f"{done.id}: a document of that size is not on record; replay it instead")
    return {
        "name": call["method"],
        "plugin": call["peer"],
        "netns": bool(call.get("netns")),
        "conditions": conditions,
        "request": {
            "env": call["env"],
            "stdin": call.get("stdin"),
            "document": call["requests"][0],
        },
        "code": call["code"],
        "reply": call["replies"][0] if call["replies"] else None,
    }
