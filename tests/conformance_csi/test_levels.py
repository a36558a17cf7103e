"""How much a finding counts: the words of the specification decide, and what harms does not only
warn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone


@pytest.mark.parametrize(
    ("mutant", "id", "outcome"),
    [
        ("ServesAControllerUnasked", "CSI-ID-011", "fail"),
        ("HasARestOfAController", "CSI-ID-011", "warn"),
        ("NamesThePlaceOfASource", "CSI-CTRL-038", "fail"),
        ("KeepsSourcesToItself", "CSI-CTRL-038", "warn"),  # content_source is OPTIONAL
        ("IgnoresPlaces", "CSI-CTRL-057", "warn"),  # the caller's duty, as the next one
        ("EchoesAnyContext", "CSI-VAL-006", "warn"),
        ("EchoesAnyParameters", "CSI-VAL-007", "warn"),
        ("AdvertisesWhatItHasNot", "CSI-PROTO-004", "fail"),
    ],
)
def test_a_finding_counts_what_the_text_says(
    mutant: str, id: str, outcome: str, tmp_path: Path
) -> None:
    """As a run tells it."""
    words = ["test", "csi", f"mutant:{mutant}", "--only", id, "-q", "--report-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "refimpl", *words], capture_output=True, check=False)
    told = events.read(tmp_path / "events.jsonl")
    assert [(case.id, case.outcome) for case in told if isinstance(case, CaseDone)] == [
        (id, outcome)
    ]
