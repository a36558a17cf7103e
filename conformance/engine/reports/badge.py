"""The badge: JSON that a shields.io endpoint badge reads (schema version 1)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from conformance.engine.events import Event
from conformance.engine.reports.conclusion import conclude
from conformance.engine.reports.digest import Digest


def badge(stream: Iterable[Event]) -> str:
    """`224/231 MUST` and its colour; a run without a verdict is grey and says so."""
    digest = Digest.of(stream)
    message, colour = _shown(digest)
    interface = "" if digest.run.interface == "all" else f"{digest.run.interface} "
    fields = {
        "schemaVersion": 1,
        "label": f"{interface}conformance".strip(),
        "message": message,
        "color": colour,
    }
    return json.dumps(fields) + "\n"


def _shown(digest: Digest) -> tuple[str, str]:
    sign = conclude(digest).sign
    met, judged = digest.musts
    score = f"{met}/{judged} MUST{' (selection)' if digest.choices else ''}"
    if sign == "bad":
        return score, "red"
    if sign == "open":
        return ("unfinished" if digest.end is None else "no verdict"), "lightgrey"
    if not judged:
        return "no MUST judged", "lightgrey"
    return score, "brightgreen" if met == judged else "yellowgreen"
