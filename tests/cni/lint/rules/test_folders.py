"""The networks of a folder against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Folder = Callable[..., Any]


def network(name: str, kind: str = "t") -> dict[str, Any]:
    """A sound list."""
    return {"cniVersion": "1.0.0", "name": name, "plugins": [{"type": kind}]}


def test_a_repeated_name_is_a_warning_at_the_later_file(folder: Folder) -> None:
    """It says which other file has it, and that runtimes differ."""
    report = folder({"10.conflist": network("a"), "20.conflist": network("a")})
    (finding,) = [one for one in report.findings if one.id == "CNI-CFG-004"]
    assert finding.severity == "warning"
    assert finding.file.endswith("20.conflist")
    assert "10.conflist" in finding.message


def test_files_after_the_first_are_told_that_they_are_cut_off(folder: Folder) -> None:
    """max_conf_num is 1 unless somebody changes it."""
    report = folder({"10.conf": {**network("a"), "type": "t"}, "20.conflist": network("b")})
    (finding,) = [one for one in report.findings if one.id == "CNI-CFG-035"]
    assert finding.severity == "info"
    assert finding.file.endswith("20.conflist")


def test_one_network_is_nothing_to_talk_about(folder: Folder) -> None:
    """Of a folder with one sound file there is nothing to say."""
    assert folder({"10.conflist": network("a")}).findings == ()


def test_a_loopback_that_comes_first_is_told(folder: Folder) -> None:
    """Pods would have no interface but lo."""
    report = folder({"00-lo.conflist": network("lo", "loopback"), "10.conflist": network("a")})
    findings = [one for one in report.findings if one.file.endswith("00-lo.conflist")]
    unused = [one for one in findings if one.id == "CNI-CFG-035"]
    assert ["loopback" in one.message for one in unused] == [True]
    assert unused[0].severity == "warning"


def test_numbers_that_sort_as_text_are_told(folder: Folder) -> None:
    """10 comes before 9."""
    report = folder({"9-a.conflist": network("a"), "10-b.conflist": network("b")})
    (findings,) = [one for one in report.findings if one.file.endswith("10-b.conflist")]
    assert "numbered 9" in findings.message
    assert findings.severity == "warning"


def test_an_empty_folder_has_no_findings(folder: Folder) -> None:
    """Before a network add-on is installed."""
    assert folder({"x/y.bak": b""}).checked[0].folder.networks == ()
