"""Real programs: built from the Go module proxy when a test of theirs is selected, kept outside the
checkout in $REFIMPL_PEERS (default ~/.cache/refimpl/peers), one folder a version.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from conformance.engine.supervise import Supervised

CSI_SANITY = "5.6.0"
GRPCURL = "1.9.4"
KUBERNETES = "1.37.2"
HERE = Path(__file__).parent


def _home() -> Path:
    chosen = os.environ.get("REFIMPL_PEERS") or "~/.cache/refimpl/peers"
    return Path(chosen).expanduser()


def _built(name: str, version: str, build: Callable[[Path], None]) -> Path:
    """The program called `name`, built once; other test processes wait for it."""
    folder = _home() / f"{name}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            if not shutil.which("go"):
                pytest.skip(f"{name} {version} is not built and there is no Go to build it with")
            build(folder)
            print(f"built {name} {version}")
    return program


def _go(*words: str, folder: Path, **env: str) -> None:
    done = subprocess.run(
        ["go", *words],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"go {' '.join(words)}:\n{done.stderr[-2000:]}"


def _installed(name: str, version: str, module: str) -> Path:
    """The program that `go install MODULE@vVERSION` builds."""

    def build(folder: Path) -> None:
        _go("install", f"{module}@v{version}", folder=folder, GOBIN=str(folder), GOFLAGS="-mod=mod")

    return _built(name, version, build)


@pytest.fixture(scope="session")
def csi_sanity() -> Path:
    """The program of csi-sanity."""
    module = "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity"
    return _installed("csi-sanity", CSI_SANITY, module)


@pytest.fixture(scope="session")
def grpcurl() -> Path:
    """The program that our findings are repeated with."""
    return _installed("grpcurl", GRPCURL, "github.com/fullstorydev/grpcurl/cmd/grpcurl")


@pytest.fixture(scope="session")
def mock_driver() -> Path:
    """The mock CSI driver of Kubernetes' end-to-end tests, behind a main of our own."""

    def build(folder: Path) -> None:
        source = folder / "source"
        shutil.copytree(HERE / "mock_driver", source, dirs_exist_ok=True)
        shutil.copy(source / "go.mod.template", source / "go.mod")
        _go("mod", "tidy", folder=source)
        _go("build", "-trimpath", "-o", str(folder / "mock-driver"), ".", folder=source)

    return _built("mock-driver", KUBERNETES, build)


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
