"""Refusals where CRI names no code: any will do that says no, and one is better than another."""

from __future__ import annotations

from collections.abc import Callable, Collection

from conformance.engine.verdict import Broken, should
from refimpl.wire.status import Code, Refused

__all__ = ["expect_refusal"]

_NO_ANSWER = frozenset(
    {Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE, Code.UNIMPLEMENTED}
)
"""Of a runtime that hangs, is gone, or does not know the call."""


def expect_refusal(
    call: Callable[[], object], rule: str, *, preferred: Collection[Code] = ()
) -> Refused:
    """Makes the call; raises Broken unless the runtime refuses it, Doubtful where the code is none
    of the preferred ones."""
    better = " or ".join(code.name for code in sorted(preferred))
    wanted = f"a refusal, better {better}" if better else "a refusal"
    try:
        reply = call()
    except Refused as refusal:
        if refusal.code in _NO_ANSWER:
            raise Broken(rule, wanted, str(refusal)) from None
        should(not preferred or refusal.code in preferred, rule, wanted=wanted, got=refusal)
        return refusal
    raise Broken(rule, wanted, f"OK, {reply}")
