"""Puts a finding into words: the message, the calls that led there, the line that repeats it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from conformance.engine import catalogue, fixtures
from conformance.engine.case import Case
from conformance.engine.targets.target import Record, Target
from conformance.engine.verdict import Broken, Several, is_soft
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

# All that a script has to play; a property that fails after more is not one to read either.
_KEPT = 1000
# Of a case that passed.
_NAMED = 12


def finding(target: Target, error: BaseException, calls: Sequence[Record]) -> dict[str, Any]:
    """message, wanted, got, calls and reproduce of a failed case, and in `also` what else failed of
    the checks that it made together."""
    first, *others = error.breaches if isinstance(error, Several) else [error]
    fields = _words(first, calls)
    fields["message"] = fields.pop("rule")
    if others:
        fields["message"] += f" (and {len(others)} more)"
        fields["also"] = [_words(each, calls) | {"soft": is_soft(each)} for each in others]
    fields["calls"] = [call.to_dict() for call in calls[-_KEPT:]]
    if calls:
        fields["reproduce"] = target.reproduce(calls)
    return fields


def _words(error: BaseException, calls: Sequence[Record]) -> dict[str, Any]:
    """rule, wanted and got of one breach, as far as they can be told."""
    words = {"rule": _sentence(error, _refused(error, calls))}
    if isinstance(error, Broken):
        words |= {"wanted": error.wanted, "got": error.got}
    elif isinstance(error, Refused):
        words |= {"wanted": "OK", "got": str(error)}
    return words


def _refused(error: BaseException, calls: Sequence[Record]) -> str:
    """The last call that ended so, or any that did not succeed: that of the error."""
    failed = [call for call in reversed(calls) if call.code]
    alike = [call for call in failed if call.code == getattr(error, "code", None)]
    return next((call.rpc for call in alike or failed), "a call")


def _sentence(error: BaseException, refused: str) -> str:
    if isinstance(error, Broken):
        return error.rule
    if isinstance(error, Refused):
        return f"{refused} has to succeed here"
    if isinstance(error, Unreachable | AssertionError):
        return str(error) or "an assertion failed"
    return f"{type(error).__name__}: {error}"


def call_names(calls: Iterable[Record]) -> list[dict[str, Any]]:
    """The calls of a case that passed, by name and status only, to keep the stream small."""
    return [{"rpc": call.rpc, "code": call.code.name} for call in calls][-_NAMED:]


@functools.cache
def case_fields(case: Case) -> dict[str, str]:
    """The fields of a case that every report shows."""
    return {
        "id": case.id,
        "level": case.level.name,
        "title": case.title,
        "why": case.why,
        "source": case.source,
        "section": catalogue.section(case.id),
    }


def fixture_paths(names: Iterable[str], folder: str) -> list[Path]:
    """Files as given, or of that name below our own fixtures (`hostpath` -> hostpath.toml)."""
    return [fixtures.locate(name, folder) for name in names]
