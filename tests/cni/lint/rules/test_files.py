"""File names against what is in the files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., Any]
LIST = {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "t"}]}
SINGLE = {"cniVersion": "0.4.0", "name": "n", "type": "t"}


@pytest.mark.parametrize(
    ("document", "name", "rows"),
    [
        (LIST, "n.conflist", []),
        (LIST, "n.conf", ["CNI-CFG-032"]),
        (LIST, "n.json", ["CNI-CFG-032"]),
        (SINGLE, "n.conf", []),
        (SINGLE, "n.json", []),
        (SINGLE, "n.conflist", ["CNI-CFG-032"]),
    ],
)
def test_the_extension_says_what_is_in_a_file(
    judged: Judged, document: dict[str, Any], name: str, rows: list[str]
) -> None:
    """Loaders choose their reader by it."""
    findings = judged(document, name=name)
    assert [finding.id for finding in findings] == rows
    assert all(finding.severity == "error" for finding in findings)


def test_a_single_plugin_of_1_0_0_is_deprecated(judged: Judged) -> None:
    """The format went with that version."""
    (finding,) = judged({**SINGLE, "cniVersion": "1.0.0"}, name="n.conf")
    assert (finding.id, finding.severity) == ("CNI-CFG-033", "warning")


@pytest.mark.parametrize(
    ("name", "severity", "words"),
    [
        ("10-net.conf.bak", "info", "backup"),
        ("10-net.conflist~", "info", "backup"),
        ("10-net.CONFLIST", "warning", "letter case"),
        ("10-net.yaml", "warning", "extension is .yaml"),
        ("calico-kubeconfig", "info", "no extension"),
        (".keep", "info", "hidden"),
    ],
)
def test_what_no_loader_reads_is_told_with_the_reason(
    folder: Judged, name: str, severity: str, words: str
) -> None:
    """A renamed file that still seems to be there is a long search; add-ons have files of their
    own there, which nobody takes for networks.
    """
    report = folder({"10-net.conflist": LIST, name: b""})
    (finding,) = report.findings
    assert (finding.id, finding.severity) == ("CNI-CFG-034", severity)
    assert words in finding.message
    assert finding.file.endswith(f"/{name}")


def test_a_directory_of_another_name_is_not_loaded(folder: Judged) -> None:
    """No loader descends, but for the folder of a network's name."""
    report = folder({"10-net.conflist": LIST, "multus.d/x.conf": SINGLE, "dir.conf/x": b""})
    findings = [(finding.id, finding.severity) for finding in report.findings]
    assert findings == [("CNI-CFG-034", "warning"), ("CNI-CFG-034", "info")]
    assert "directory" in report.findings[0].message


def test_a_hidden_configuration_is_loaded_first(folder: Judged) -> None:
    """Loaders do not skip it, and a dot sorts before every letter and digit."""
    report = folder({".old.conflist": {**LIST, "name": "old"}, "10-net.conflist": LIST})
    findings = {finding.id: finding for finding in report.findings}
    assert findings["CNI-CFG-034"].severity == "warning"
    assert findings["CNI-CFG-035"].file.endswith("10-net.conflist")


def test_a_file_asked_for_by_name_is_judged_whatever_it_is_called(judged: Judged) -> None:
    """With a word on its name."""
    (finding,) = judged(LIST, name="net.txt")
    assert (finding.id, finding.severity) == ("CNI-CFG-034", "info")
