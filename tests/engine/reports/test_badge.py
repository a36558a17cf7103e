"""The badge never shows green for a run that proves nothing."""

import json
from typing import Any

import pytest

from conformance.engine.reports import badge


@pytest.mark.parametrize(
    ("code", "outcomes", "message", "colour"),
    [
        (0, ["pass", "pass", "skip"], "2/2 MUST", "brightgreen"),
        (0, ["pass", "xfail"], "1/2 MUST", "yellowgreen"),
        (0, ["skip"], "no verdict", "lightgrey"),
        (1, ["pass", "fail"], "1/2 MUST", "red"),
        (2, ["pass"], "no verdict", "lightgrey"),
        (6, [], "no verdict", "lightgrey"),
        (None, ["pass"], "unfinished", "lightgrey"),
    ],
)
def test_message_and_colour_follow_the_verdict(
    sample: Any, case: Any, code: int | None, outcomes: list[str], message: str, colour: str
) -> None:
    """Nobody reads a report behind a green badge."""
    cases = [case(number, outcome) for number, outcome in enumerate(outcomes)]
    assert json.loads(badge(sample(end=code, only=cases))) == {
        "schemaVersion": 1,
        "label": "csi conformance",
        "message": message,
        "color": colour,
    }


def test_a_selection_is_marked(sample: Any, case: Any) -> None:
    """Five of five means little where 226 were left out."""
    stream = sample(end=0, only=[case(1)], config={"only": ["CSI-LV-001"]})
    assert json.loads(badge(stream))["message"] == "1/1 MUST (selection)"


def test_no_must_no_score(sample: Any, case: Any) -> None:
    """0/0 is no achievement."""
    stream = sample(end=0, only=[case(1, level="MAY")])
    assert json.loads(badge(stream))["message"] == "no MUST judged"


def test_a_run_over_all_interfaces_has_no_interface_in_its_label(sample: Any) -> None:
    """`all conformance` would read like a promise."""
    assert json.loads(badge(sample(interface="all")))["label"] == "conformance"
