"""What many cases look for in the calls of a runtime."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from conformance.cni.runtimes.calls import RecordedCall
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.subject import RequestedPod
from conformance.engine.verdict import soon
from refimpl.documents import json as documents

__all__ = ["differences", "names", "undone", "without"]


def names(steps: Iterable[RecordedCall]) -> str:
    """The calls in words, for a finding."""
    return ", ".join(call.step for call in steps) or "no call"


def undone(runtime: RuntimeUnderTest, pod: RequestedPod, place: int = 0) -> str:
    """What is wrong where a plugin that was asked to ADD is never asked to DEL, although a client
    stops and removes the pod if it still can, with all plugins healthy again. "" for nothing.
    """

    def owed() -> set[str]:
        calls = runtime.since(place)
        added = {call.plugin for call in calls if call.verb == "ADD"}
        return added - {call.plugin for call in calls if call.verb == "DEL"}

    if not owed():
        return ""
    runtime.recorders.reset()
    refusal = runtime.ended(pod)
    if soon(lambda: not owed()):
        return ""
    last = f"the last word on the pod is {refusal!r}"
    fate = last if refusal else "nobody can ask for it any more"
    left = " and ".join(sorted(owed()))
    return f"{left} had ADD and no DEL, {fate} ({names(runtime.since(place))})"


def differences(sent: Any, wanted: Any, place: str = "") -> list[str]:
    """Where a value differs from the one it should equal, by pointer; numbers by value."""
    if isinstance(sent, dict) and isinstance(wanted, dict):
        keys = list(dict.fromkeys([*wanted, *sent]))
        return [line for key in keys for line in _member(sent, wanted, key, f"{place}/{key}")]
    if isinstance(sent, list) and isinstance(wanted, list) and len(sent) == len(wanted):
        pairs = enumerate(zip(sent, wanted, strict=True))
        return [line for i, pair in pairs for line in differences(*pair, f"{place}/{i}")]
    same = sent == wanted and isinstance(sent, bool) == isinstance(wanted, bool)
    return [] if same else [f"{place} is {_text(sent)} instead of {_text(wanted)}"]


def _member(sent: dict[str, Any], wanted: dict[str, Any], key: str, place: str) -> list[str]:
    if key not in sent:
        return [f"{place} is gone"]
    if key not in wanted:
        return [f"{place} is new"]
    return differences(sent[key], wanted[key], place)


def _text(value: Any) -> str:
    return documents.dump(value).decode()


def without(document: dict[str, Any], members: Collection[str]) -> dict[str, Any]:
    """The document with members left out."""
    return {key: value for key, value in document.items() if key not in members}
