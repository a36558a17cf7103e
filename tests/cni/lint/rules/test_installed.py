"""A network against the plugins that are there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refimpl.cni.lint import Unanswered, lint

Judged = Callable[..., Any]
LIST = {
    "cniVersion": "1.0.0",
    "name": "n",
    "plugins": [{"type": "bridge", "ipam": {"type": "host-local"}}],
}


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A configuration with two plugins."""
    path = tmp_path / "n.conflist"
    path.write_text(json.dumps(LIST))
    return path


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A folder with both, never to be run."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bridge", "host-local"):
        (folder / name).touch(mode=0o755)
    return folder


def rows(conf: Path, *folders: Path, **more: Any) -> list[tuple[str, str]]:
    """Row and severity of each finding."""
    findings = lint([conf], cni_path=folders, **more).findings
    return [(finding.id, str(finding.severity)) for finding in findings]


def test_without_folders_nothing_is_looked_for(conf: Path) -> None:
    """A configuration may be checked on another machine."""
    assert rows(conf) == []


def test_installed_plugins_are_fine(conf: Path, plugins: Path, tmp_path: Path) -> None:
    """In the first folder that has them; folders of that name are no plugins."""
    (tmp_path / "other" / "bridge").mkdir(parents=True)
    assert rows(conf, tmp_path / "other", plugins) == []


def test_a_missing_plugin_is_an_error_at_the_type(conf: Path, plugins: Path) -> None:
    """Of the plugin and of its ipam."""
    (plugins / "host-local").unlink()
    (finding,) = lint([conf], cni_path=[plugins]).findings
    assert (finding.id, finding.severity) == ("CNI-CFG-016", "error")
    assert '"host-local"' in finding.message
    assert finding.column == conf.read_text().index('"host-local"') + 1


def test_a_file_that_cannot_be_executed_is_an_error(conf: Path, plugins: Path) -> None:
    """Found, and then the exec fails."""
    (plugins / "bridge").chmod(0o644)
    assert rows(conf, plugins) == [("CNI-CFG-016", "error")]


def test_the_plugin_is_asked_whether_it_supports_the_version(conf: Path, plugins: Path) -> None:
    """Once each, through the function that was given."""
    programs: list[str] = []

    def versions_of(path: Path) -> list[str]:
        programs.append(path.name)
        return ["0.4.0", "1.0.0"] if path.name == "bridge" else ["0.4.0"]

    assert rows(conf, plugins, versions_of=versions_of) == [("CNI-CFG-017", "error")]
    assert sorted(programs) == ["bridge", "host-local"]


@pytest.mark.parametrize("error", [Unanswered("exit 1"), OSError("no exec"), ValueError()])
def test_a_plugin_that_does_not_answer_is_a_warning(
    conf: Path, plugins: Path, error: Exception
) -> None:
    """It may be very old, or no plugin at all."""

    def versions_of(_path: Path) -> list[str]:
        raise error

    assert rows(conf, plugins, versions_of=versions_of) == [("CNI-CFG-017", "warning")] * 2


@pytest.mark.parametrize(
    ("kind", "version", "count"),
    [
        ("firewall", "0.3.1", 1),
        ("firewall", "0.4.0", 0),
        ("bandwidth", "0.2.0", 1),
        ("bandwidth", "0.3.0", 0),
        ("vrf", "0.3.0", 1),
        ("vrf", "0.3.1", 0),
    ],
)
def test_reference_plugins_that_are_younger_than_the_version(
    judged: Judged, kind: str, version: str, count: int
) -> None:
    """Known without asking."""
    document = {"cniVersion": version, "name": "n", "plugins": [{"type": "x"}, {"type": kind}]}
    assert len(judged(document, only="CNI-CFG-017")) == count


def test_a_type_with_a_directory_is_not_looked_for(tmp_path: Path, plugins: Path) -> None:
    """It must not lead to a file elsewhere."""
    conf = tmp_path / "x.conflist"
    conf.write_text(json.dumps({**LIST, "plugins": [{"type": "../bin/bridge"}, {"type": ".."}]}))
    assert rows(conf, plugins) == [("CNI-CFG-015", "error")] * 2 + [("CNI-CFG-016", "error")]
