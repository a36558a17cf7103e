"""What is wrong is collected with its place, within bounds."""

from __future__ import annotations

from refimpl.cdi.findings import KEPT, Findings, written
from refimpl.documents import json


def test_findings_stand_in_the_order_of_the_text() -> None:
    """Whatever was judged first."""
    findings = Findings("strict", "f.json", json.parse(b'{"a": 1,\n "b": 2}'))
    findings.add("type", ("b",), "second")
    findings.add("type", ("a",), "first", key=True)
    assert [(finding.text, finding.line, finding.column) for finding in findings.ordered()] == [
        ("first", 1, 2),
        ("second", 2, 7),
    ]


def test_what_the_policy_does_not_count_is_not_kept() -> None:
    """Colons in names are for the strict."""
    findings = Findings("practice", "")
    findings.add("device-colon", (), "text")
    assert findings.ordered() == ()


def test_garbage_is_told_within_bounds() -> None:
    """A file of a million mistakes is told from the first thousand."""
    findings = Findings("strict", "")
    for _ in range(KEPT + 5):
        findings.add("type", (), "text")
    assert len(findings.ordered()) == KEPT


def test_an_error_behind_a_thousand_warnings_is_not_lost() -> None:
    """The document does not load for that."""
    findings = Findings("practice", "")
    for _ in range(KEPT + 5):
        findings.add("null", (), "text")
    assert findings.sound
    findings.add("type", (), "text")
    findings.add("type", (), "text")
    assert not findings.sound
    assert [finding.level for finding in findings.ordered()].count("error") == 1


def test_pointers_are_written_as_in_rfc_6901() -> None:
    """With its two escapes."""
    assert written(()) == ""
    assert written(("a/b", 0, "~")) == "/a~1b/0/~0"
