"""The line that shows a finding again is one to paste."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from conformance.engine.events import Run
from conformance.engine.reports.repeats import replay_line

FACTS: dict[str, Any] = {"interface": "csi", "target": "x", "revision": "", "suite": "0"}

CHOICES = [
    ({"target": "/run/x.sock"}, "test csi /run/x.sock --only ID --seed 7"),
    ({"report_dir": "o ut/"}, "replay 'o ut/events.jsonl' ID"),
    (
        {"command": ["./d", "{endpoint}"], "target": "fake", "settings": {"csi.secrets": "***"}},
        "test csi --only ID --seed 7 --csi.secrets '***' -- ./d '{endpoint}'",
    ),
    (
        {"side": "client", "revision": "1", "settings": {"flag": True, "dirs": ["a", "b"]}},
        "test client csi fake --only ID --seed 7 --revision 1 --flag --dirs a --dirs b",
    ),
]


@pytest.mark.parametrize(("config", "line"), CHOICES)
def test_a_line_for_every_way_to_choose_a_target(
    case: Any, config: dict[str, Any], line: str
) -> None:
    """With the stream where one was kept, else with what the run was asked for."""
    run = Run(**FACTS, seed=7, started=0, config=config)
    done = case(1, "fail")
    shown = replay_line(run, done)
    assert shown == f"refimpl {line.replace('ID', done.id)}"
    assert shlex.split(shown)[0] == "refimpl"
