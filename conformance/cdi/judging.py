"""Which documents an implementation takes, told for all variants of a row at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.cdi.host import CdiHost, Content
from conformance.engine.verdict import Broken, expect, should, together

Documents = Mapping[str, Content]
"""What is told of a variant -> its document; text is a YAML file, anything else JSON."""


def judged(
    host: CdiHost, rule: str, *, taken: Documents | None = None, refused: Documents | None = None
) -> None:
    """Raises Broken unless all of `taken` load and none of `refused` does."""
    _judged(host, rule, taken or {}, refused or {}, expect)


def advised(
    host: CdiHost, rule: str, *, taken: Documents | None = None, refused: Documents | None = None
) -> None:
    """The same as Doubtful: for the softer half of a row."""
    _judged(host, rule, taken or {}, refused or {}, should)


def _judged(
    host: CdiHost, rule: str, taken: Documents, refused: Documents, judge: Callable[..., None]
) -> None:
    with together() as check:
        for label, content in (*taken.items(), *refused.items()):
            wanted = "taken" if label in taken else "refused"
            with check:
                got = _fate(host, content)
                met = got.startswith(wanted)
                judge(met, f"{rule}: {label}", wanted=wanted, got=got)


def _fate(host: CdiHost, content: Content) -> str:
    """What becomes of a document: `taken`, `refused (why)`, or what went wrong in its place."""
    try:
        why = host.refusal(content, "a.yaml" if isinstance(content, str) else "a.json")
    except Broken as broken:
        return broken.got
    return f"refused ({why})" if why else "taken"
