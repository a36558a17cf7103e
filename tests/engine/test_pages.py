"""The pages of docs/catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine import cases, pages


def test_every_case_is_a_row_of_its_page() -> None:
    """With as many cells as the header has."""
    text = pages.page("csi")
    for entry in cases.all_cases("csi"):
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {entry.case.id} |")]
        assert row.replace("\\|", "").count("|") == 6
    assert f"{len(cases.all_cases('csi'))} cases" in text


def test_rows_that_wait_are_told_with_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this interface only."""
    waiting = {"CSI-ZZ-*": "later", "CRI-ZZ-*": "elsewhere"}
    monkeypatch.setattr(pages.catalogue, "deferred", lambda: waiting)
    text = pages.page("csi")
    assert "## No case yet" in text
    assert "| CSI-ZZ-* | later |" in text
    assert "CRI-ZZ" not in text
    monkeypatch.setattr(pages.catalogue, "deferred", dict)
    assert "No case yet" not in pages.page("csi")


def test_pages_are_written_once_and_then_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check changes nothing, says what is stale and how to mend it."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "docs" / "catalogue" / "csi.md"
    assert pages.main(["--check"]) == 1
    assert "csi.md" in capsys.readouterr().out
    assert not page.exists()
    assert pages.main([]) == 0
    assert pages.main(["--check"]) == 0
    assert page.read_text() == pages.page("csi")
    page.write_text("stale")
    assert pages.main(["--check"]) == 1
    assert page.read_text() == "stale"
