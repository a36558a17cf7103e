"""A report for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.cni.lint import lint_bytes
from refimpl.cni.lint.terminal import WIDTH, lines

LIST = {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "bridge"}]}


def test_a_clean_document_is_one_line() -> None:
    """Silence would leave one wondering."""
    report = lint_bytes(b'{"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "t"}]}')
    assert list(lines(report)) == ["0 errors, 0 warnings, 0 info"]


def test_a_finding_has_place_row_message_fix_and_rule() -> None:
    """All one needs to repair it."""
    report = lint_bytes(b'{"cniVersion": "1.0", "name": "n",\n "plugins": [{"type": "t"}]}')
    text = list(lines(report))
    assert text[0] == "network.conflist"
    assert text[1] == "  1:16 error CNI-CFG-006"
    assert text[3].startswith("    fix: ")
    assert text[4].startswith("    rule: ")
    assert text[-1] == "1 error, 0 warnings, 0 info"


def test_a_folder_has_a_summary_of_its_runtimes(folder: Callable[..., Any]) -> None:
    """Which file each would use, and why not the others."""
    text = "\n".join(lines(folder({"10.conflist": LIST, "20.conflist": b"{"})))
    assert "What each runtime does with" in text
    assert "uses 10.conflist (sorts first)" in text
    assert "not 20.conflist: max_conf_num is 1: not read" in text
    for runtime in ("containerd", "CRI-O", "libcni, cnitool", "nerdctl"):
        assert f"\n  {runtime}\n" in text


def test_lines_fit_80_columns_but_for_paths(folder: Callable[..., Any]) -> None:
    """A path that is broken cannot be copied."""
    long = {**LIST, "name": "x" * 180, "plugins": [{"type": "t" * 100, "args": {}}]}
    report = folder({"10.conflist": LIST, "20.conf": long, "x" * 60 + ".bak": b""})
    names = {finding.file for finding in report.findings}
    for line in lines(report):
        assert len(line) <= WIDTH or line in names or line.startswith("What each runtime")


def test_colours_are_whoever_prints_business() -> None:
    """Every painted word says what it is."""
    report = lint_bytes(b"{")
    painted = list(lines(report, lambda text, what: f"<{what}>{text}"))
    assert painted[0] == "<file>network.conflist"
    assert "<error>error" in painted[1]
    assert painted[-2] == ""
