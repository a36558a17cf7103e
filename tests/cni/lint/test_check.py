"""Lint as a whole: what cannot be read, and the forms of a report."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pyfakefs.fake_filesystem import FakeFilesystem, set_uid

from refimpl.cni.lint import Severity, lint, lint_bytes

LOOPBACK = {"cniVersion": "1.0.0", "name": "lo", "plugins": [{"type": "loopback"}]}


def test_what_cannot_be_read_is_a_finding(fs: FakeFilesystem) -> None:
    """Each with its file, the others are still judged."""
    good = json.dumps(LOOPBACK)
    fs.create_file("/net.d/10-secret.conflist", contents=good, st_mode=0o100000)
    fs.create_file("/net.d/20-good.conflist", contents=good)
    fs.create_symlink("/net.d/30-dangling.conf", "/nowhere")
    fs.create_symlink("/net.d/40-loop.conf", "/net.d/40-loop.conf")
    fs.create_dir("/net.d/50-folder.conf")
    fs.create_symlink("/net.d/60-link.conf", "/net.d/50-folder.conf")
    fs.create_dir("/closed.d")
    fs.chmod("/closed.d", 0o000)
    set_uid(1000)
    report = lint(["/net.d", "/closed.d"])
    unreadable = {f.file: f.message for f in report.findings if f.id == "CNI-CFG-001"}
    assert set(unreadable) == {
        "/net.d/10-secret.conflist",
        "/net.d/30-dangling.conf",
        "/net.d/40-loop.conf",
        "/net.d/60-link.conf",
        "/closed.d",
    }
    assert "Permission denied" in unreadable["/net.d/10-secret.conflist"]
    assert "no regular file" in unreadable["/net.d/60-link.conf"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Opening it would block until somebody writes."""
    os.mkfifo(tmp_path / "a.conflist")
    (finding,) = lint([tmp_path]).findings
    assert (finding.id, finding.severity) == ("CNI-CFG-001", Severity.ERROR)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    """A sparse terabyte must not fill the memory."""
    with (tmp_path / "a.conflist").open("wb") as file:
        file.truncate(1 << 40)
    (finding,) = lint([tmp_path]).findings
    assert "larger than" in finding.message


def test_a_path_that_is_not_there_is_a_finding() -> None:
    """The library judges, only the command refuses to begin."""
    report = lint(["/nonexistent/net.conflist", "nul\0byte"])
    findings = [finding.file for finding in report.findings if finding.id == "CNI-CFG-001"]
    assert findings == ["/nonexistent/net.conflist", r"nul\x00byte"]


def test_findings_are_one_line_that_a_terminal_can_show() -> None:
    """Names from files may hold escape sequences."""
    evil = {"name": "n\x1b[2J\n", "cniVersion": "1.0.0", "plugins": [{"type": "a\x1b]0;b/c\x07"}]}
    findings = lint_bytes(json.dumps(evil).encode()).findings
    assert {"CNI-CFG-002", "CNI-CFG-015"} <= {finding.id for finding in findings}
    assert all(str(finding).isprintable() for finding in findings)


def test_a_report_has_its_json_form() -> None:
    """The keys that scripts read."""
    report = lint_bytes(b'{"name": "n", "plugins": [{"type": "t"}]}').to_dict()
    assert report["counts"] == {"error": 0, "warning": 1, "info": 0}
    (finding,) = report["findings"]
    assert set(finding) == {"id", "severity", "file", "line", "column", "message", "rule", "fix"}
    assert (finding["id"], finding["severity"]) == ("CNI-CFG-005", "warning")


def test_findings_of_one_rule_are_bounded() -> None:
    """A hostile document must not become a million findings."""
    network = {**LOOPBACK, "plugins": [{}] * 5000}
    findings = lint_bytes(json.dumps(network).encode()).findings
    assert 200 < len(findings) < 500
    assert sum("more than 200" in finding.message for finding in findings) == 1
