"""What cases demand of the end of a call: success, and an object on stdout."""

from __future__ import annotations

from typing import Any

from conformance.engine.verdict import Broken
from refimpl.cni.contract import ShapeError
from refimpl.cni.execute import Outcome

__all__ = ["object_of", "result_of", "succeeded"]


def object_of(outcome: Outcome) -> dict[str, Any] | None:
    """The object on stdout; None where there is none."""
    try:
        document = outcome.document
    except ShapeError:
        return None
    return document if isinstance(document, dict) else None


def succeeded(outcome: Outcome, rule: str) -> None:
    """Raises Broken unless the exec ended with exit code 0."""
    if not outcome.ok:
        raise Broken(rule, "exit 0", outcome.brief())


def result_of(outcome: Outcome, rule: str) -> dict[str, Any]:
    """The object on stdout of a call that has to succeed; raises Broken."""
    succeeded(outcome, rule)
    document = object_of(outcome)
    if document is None:
        raise Broken(rule, "one JSON object on stdout", outcome.brief())
    return document
