"""Asks installed plugins for their versions; the one part of lint that runs anything."""

from __future__ import annotations

from pathlib import Path

from refimpl.cni.contract import LATEST, ShapeError, Verb, supported_versions
from refimpl.cni.execute import Processes, Request
from refimpl.cni.lint.rule import Unanswered


def versions_of(plugin: Path) -> list[str]:
    """What the plugin answers to VERSION; raises Unanswered, or OSError where it cannot be run."""
    outcome = Processes().run(plugin, Request.of(Verb.VERSION, {"cniVersion": LATEST}))
    try:
        if not outcome.ok:
            raise Unanswered(outcome.brief())
        return list(supported_versions(outcome.document))
    except ShapeError as error:
        raise Unanswered(str(error)) from error
