"""Which documents an implementation takes, told for all variants of a row at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.cdi.host import CdiHost, Content
from conformance.engine.verdict import Broken, expect, should

Documents = Mapping[str, Content]
"""What is told of a variant -> its document; text is a YAML file, anything else JSON."""


def judged(
    host: CdiHost, rule: str, *, taken: Documents | None = None, refused: Documents | None = None
) -> None:
    """Raises Broken unless all of `taken` load and none of `refused` does."""
    wrong = list(_wrong(host, taken or {}, refused or {}))
    expect(not wrong, rule, wanted=_wanted(taken, refused), got="; ".join(wrong))


def advised(
    host: CdiHost, rule: str, *, taken: Documents | None = None, refused: Documents | None = None
) -> None:
    """The same as Doubtful: for the softer half of a row."""
    wrong = list(_wrong(host, taken or {}, refused or {}))
    should(not wrong, rule, wanted=_wanted(taken, refused), got="; ".join(wrong))


def _wrong(host: CdiHost, taken: Documents, refused: Documents) -> Iterator[str]:
    for label, content in (*taken.items(), *refused.items()):
        try:
            why = host.refusal(content, "a.yaml" if isinstance(content, str) else "a.json")
        except Broken as broken:
            yield f"{label}: {broken.got}"
            continue
        if why and label in taken:
            yield f"{label}: refused ({why})"
        elif not why and label in refused:
            yield f"{label}: taken"


def _wanted(taken: Documents | None, refused: Documents | None) -> str:
    parts = []
    if taken:
        parts.append(f"taken: {', '.join(taken)}")
    if refused:
        parts.append(f"refused: {', '.join(refused)}")
    return "; ".join(parts)
