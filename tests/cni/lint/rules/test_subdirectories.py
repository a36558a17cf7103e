"""The folder named like a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Folder = Callable[..., Any]
LIST = {"cniVersion": "1.1.0", "name": "net", "plugins": [{"type": "bridge"}]}


def grave(report: Any) -> list[tuple[str, str, str]]:
    """Row, severity and file name of everything but infos."""
    return [
        (finding.id, str(finding.severity), finding.file.rpartition("/")[2])
        for finding in report.findings
        if finding.severity != "info"
    ]


def test_the_effective_list_is_reported_in_its_order(folder: Folder) -> None:
    """What runs is not what the file says."""
    report = folder(
        {"n.conflist": LIST, "net/20.conf": {"type": "b"}, "net/10.conf": {"type": "a"}}
    )
    (finding,) = report.findings
    assert (finding.id, finding.severity) == ("CNI-CFG-014", "info")
    assert "bridge, a (10.conf), b (20.conf)" in finding.message
    assert report.checked[0].to_dict()["networks"][0]["plugins"] == ["bridge", "a", "b"]


def test_numbers_that_the_order_does_not_follow_are_a_warning(folder: Folder) -> None:
    """10 runs before 9; names without a number are left alone."""
    plugins = {f"net/{name}.conf": {"type": "x"} for name in ("10-a", "9-b", "more")}
    report = folder({"n.conflist": LIST, **plugins})
    assert grave(report) == [("CNI-CFG-014", "warning", "10-a.conf")]
    assert "before 9-b.conf" in report.findings[-1].message


def test_its_plugins_are_judged_in_their_own_files(folder: Folder) -> None:
    """A finding leads to the file that must be changed."""
    report = folder({"n.conflist": LIST, "net/10.conf": {"type": "x", "ipMasq": 1, "args": {}}})
    assert grave(report) == [
        ("CNI-CFG-028", "error", "10.conf"),
        ("CNI-CFG-018", "error", "10.conf"),
    ]


def test_a_chained_plugin_may_come_first_in_the_folder_but_not_in_the_list(folder: Folder) -> None:
    """Inlined plugins come before it."""
    chained = {"type": "firewall"}
    assert grave(folder({"n.conflist": LIST, "net/10.conf": chained})) == []
    alone = {"cniVersion": "1.1.0", "name": "net"}
    report = folder({"n.conflist": alone, "net/10.conf": chained})
    assert grave(report) == [("CNI-CFG-029", "error", "10.conf")]


def test_other_files_and_nested_folders_are_ignored_with_a_warning(folder: Folder) -> None:
    """Somebody put them there for a reason."""
    others = {"net/a.conflist": LIST, "net/b.json": {"type": "x"}, "net/deep/c.conf": {}}
    assert grave(folder({"n.conflist": LIST, **others})) == [
        ("CNI-CFG-013", "warning", "a.conflist"),
        ("CNI-CFG-013", "warning", "b.json"),
        ("CNI-CFG-013", "warning", "deep"),
    ]


def test_a_plugin_document_that_is_none_keeps_the_network_from_loading(folder: Folder) -> None:
    """libcni gives up on the whole network."""
    report = folder({"n.conflist": LIST, "net/10.conf": {"name": "x"}, "net/20.conf": b"{"})
    assert ("CNI-CFG-013", "error", "10.conf") in grave(report)
    assert ("CNI-CFG-013", "error", "20.conf") in grave(report)
    assert all(choice.networks == {} for choice in report.checked[0].choices)


def test_with_the_flag_its_files_are_ignored(folder: Folder) -> None:
    """The flag was set, the folder forgotten."""
    report = folder(
        {"n.conflist": {**LIST, "loadOnlyInlinedPlugins": True}, "net/10.conf": {"type": "x"}}
    )
    assert grave(report) == [("CNI-CFG-013", "warning", "10.conf")]
    assert report.checked[0].to_dict()["networks"][0]["plugins"] == ["bridge"]


def test_a_name_cannot_lead_out_of_the_folder(folder: Folder) -> None:
    """`../x` would read plugins from anywhere."""
    report = folder({"d/n.conflist": b"", "n.conflist": {**LIST, "name": "../net.d/d"}})
    assert ("CNI-CFG-002", "error", "n.conflist") in grave(report)
    assert "CNI-CFG-013" not in {finding.id for finding in report.findings}
