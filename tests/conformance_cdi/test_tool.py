"""The cdi tool, played by a script that prints what the real one does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cdi.tool import Tool
from conformance.engine.targets.lines import Gone
from refimpl.wire.client import Unreachable

SCRIPT = """\
#!/bin/sh
case $1 in
validate)
    if grep -q panic /etc/cdi/* 2>/dev/null; then echo 'panic: no' >&2; exit 2; fi
    [ -e /etc/cdi/bad.json ] || { echo 'No CDI cache errors.'; exit 0; }
    echo 'CDI cache has errors:'
    echo 'Spec file /etc/cdi/bad.json:'
    echo '   0: it is bad'
    exit 1;;
devices) echo 'CDI devices found:'; for f in /var/run/cdi/*; do echo "  0. ${f##*/}"; done;;
inject) echo 'Updated OCI Spec:'; echo "  {\\"got\\": \\"$5 $6\\"}";;
esac
"""


def _namespaces() -> bool:
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    try:
        return subprocess.run(["unshare", "--mount", *root, "true"], check=False).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not _namespaces(), reason="no mount namespaces here")


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Tool]:
    """The script as the tool."""
    path = tmp_path / "cdi"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    tool = Tool(path)
    yield tool
    tool.close()


def _directories(tmp_path: Path) -> list[str]:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    return [str(tmp_path / "first"), str(tmp_path / "second")]


def test_it_reads_the_directories_of_the_case(tool: Tool, tmp_path: Path) -> None:
    """Errors are told by the paths that the case knows."""
    directories = _directories(tmp_path)
    (tmp_path / "first/bad.json").write_text("")
    (tmp_path / "second/vendor=a").write_text("")
    tool.answer("open", {"cache": 1, "directories": directories, "watched": False})
    assert tool.answer("load", {"cache": 1}) == {
        "devices": ["vendor=a"],
        "errors": {f"{directories[0]}/bad.json": ["0: it is bad"]},
    }


def test_what_it_prints_is_the_config(tool: Tool, tmp_path: Path) -> None:
    """Behind a line of its own."""
    directories = _directories(tmp_path)
    tool.answer("open", {"cache": 1, "directories": directories, "watched": False})
    reply = tool.answer("inject", {"cache": 1, "config": {}, "devices": ["a", "b"]})
    assert reply == {"config": {"got": "a b"}}
    line = tool.repeat({"directories": directories}, "inject", {"devices": ["a"]})
    assert directories[0] in line


def test_a_panic_is_a_loss(tool: Tool, tmp_path: Path) -> None:
    """Told once, with what it said."""
    directories = _directories(tmp_path)
    (tmp_path / "first/a.json").write_text("panic")
    tool.answer("open", {"cache": 1, "directories": directories, "watched": False})
    with pytest.raises(Gone, match="panic: no"):
        tool.answer("load", {"cache": 1})
    lost = tool.lost()
    assert lost is not None
    assert lost.revived
    assert tool.lost() is None


def test_what_cannot_be_run_is_out_of_reach(tmp_path: Path) -> None:
    """Not executable, or no program of this machine."""
    path = tmp_path / "cdi"
    path.write_bytes(b"\x7fELF")
    with pytest.raises(Unreachable, match="no program"):
        Tool(path)
    path.chmod(0o755)
    with pytest.raises(Unreachable):
        Tool(path)
