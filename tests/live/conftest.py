"""What the live tests share: the real programs (see peers.py), and how they are run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from conformance.engine.targets.supervise import Supervised
from tests.live import peers
from tests.live.peers import (
    busybox,
    cdi_library,
    cni_plugins,
    cnitool,
    containerd,
    crictl,
    critest,
    csi_sanity,
    debian_cni,
    debian_containerd,
    dra_allocator,
    dra_cel,
    grpcurl,
    kubernetes,
    kubernetes_wanted,
    mock_driver,
    oci_conformance,
)

__all__ = [
    "busybox",
    "cdi_library",
    "cni_plugins",
    "cnitool",
    "containerd",
    "crictl",
    "critest",
    "csi_sanity",
    "debian_cni",
    "debian_containerd",
    "dra_allocator",
    "dra_cel",
    "grpcurl",
    "kubernetes",
    "mock_driver",
    "oci_conformance",
]

_OF_KUBELET = (
    *("test_checkpoint.py", "test_device_suites.py", "test_kubelet_devices.py"),
    *("test_real_kubelet.py", "test_same_story.py", "test_static_kubelet.py"),
)
collect_ignore = [] if kubernetes_wanted() else [*_OF_KUBELET]
"""Not skipped: where nothing may skip, ten minutes of building are still a choice."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which real programs the verdict is about."""
    if peers.USED:
        used = (f"{name} {version}" for name, version in sorted(peers.USED.items()))
        terminalreporter.write_line(f"peers: {', '.join(used)}")
    for name in collect_ignore:
        terminalreporter.write_line(f"left out: {name} (REFIMPL_BUILD_KUBELET=1 builds kubelet)")


@attrs.frozen
class Sanity:
    """What csi-sanity said: states by spec title, of the failures also message and whole log."""

    states: dict[str, str]
    messages: dict[str, str]
    details: dict[str, str]

    def those(self, state: str) -> list[str]:
        """The titles that ended in this state."""
        return sorted(title for title, found in self.states.items() if found == state)


@pytest.fixture
def run_csi_sanity(csi_sanity: Path, tmp_path: Path) -> Callable[..., Sanity]:
    """Runs csi-sanity against a socket; words are further options."""

    def run(endpoint: str, *words: str) -> Sanity:
        report = tmp_path / "sanity.json"
        base = Path(tempfile.mkdtemp(prefix="sanity-"))
        done = subprocess.run(
            [
                str(csi_sanity),
                f"--csi.endpoint={endpoint}",
                f"--csi.mountdir={base}/target",
                f"--csi.stagingdir={base}/staging",
                f"--ginkgo.json-report={report}",
                *words,
            ],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert report.exists(), done.stdout[-2000:] + done.stderr[-2000:]
        found = _read(json.loads(report.read_text()))
        shutil.rmtree(base, ignore_errors=True)
        return found

    return run


def _read(suites: list[dict[str, Any]]) -> Sanity:
    states, messages, details = {}, {}, {}
    for spec in suites[0]["SpecReports"]:
        if spec["LeafNodeType"] != "It":
            continue
        title = " / ".join([*spec["ContainerHierarchyTexts"], spec["LeafNodeText"]])
        states[title] = spec["State"]
        if spec["State"] not in ("passed", "skipped", "pending"):
            messages[title] = re.sub(r"\s+", " ", spec["Failure"].get("Message", ""))
            details[title] = json.dumps(spec)
    return Sanity(states, messages, details)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    """Starts a program and ends it with the test; `{endpoint}` and `{dir}` are filled in."""
    running: list[Supervised] = []

    def start(*command: str) -> Supervised:
        folder = tmp_path / f"p{len(running)}"
        folder.mkdir()
        running.append(Supervised(command, folder=folder))
        return running[-1].start().ready()

    yield start
    for process in running:
        process.close()
