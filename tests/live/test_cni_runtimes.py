"""The suite judges real runtimes: what it finds is known, checked by hand, and no more and no less.

The program of CRI-O is in no registry and none of it is started here; its expectations
(fixtures/expectations/crio.toml) are compared where REFIMPL_CRIO_TARGET names a target file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone
from tests.live.peers import Containerd
from tests.live.rigs.containerd_rig import ContainerdRig
from tests.live.rigs.hooks import Hooks, actions_of, target_file
from tests.live.rigs.namespaces import why_not

CRIO = os.environ.get("REFIMPL_CRIO_TARGET", "")


@attrs.frozen
class Judged:
    """A run of the suite on a runtime: its exit code, what it printed, each case's outcome."""

    exit_code: int
    said: str
    cases: dict[str, CaseDone]

    def of(self, outcome: str) -> set[str]:
        """The ids that ended so."""
        return {id for id, case in self.cases.items() if case.outcome == outcome}


def judge(target: str, expected: str, folder: Path) -> Judged:
    """`refimpl test cni TARGET --expect EXPECTED`."""
    out = folder / "out"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "refimpl", "test", "cni", target, "--expect", expected),
            *("-q", "--report-dir", str(out)),
        ],
        env={**os.environ, "XDG_STATE_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    cases = [event for event in events.read(out / "events.jsonl") if isinstance(event, CaseDone)]
    return Judged(done.returncode, done.stdout + done.stderr, {case.id: case for case in cases})


def all_known(found: Judged) -> None:
    """Nothing fails that is not listed, nothing that is listed passes."""
    assert found.exit_code == 0, found.said
    assert found.of("xfail")
    assert not set(found.cases) - found.of("pass") - found.of("skip") - found.of("xfail")


@attrs.frozen
class Running:
    """A containerd that the suite can be aimed at."""

    version: str
    target: Path
    conf_dir: Path
    bin_dir: Path


@pytest.fixture(scope="module", params=["containerd", "debian_containerd"])
def running(
    request: pytest.FixtureRequest, busybox: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Both versions in turn, with a loopback plugin, a stray variable, room for two networks."""
    if reason := why_not():
        pytest.skip(reason)
    programs: Containerd = request.getfixturevalue(request.param)
    old = programs.version.startswith("1.")
    plugins: Path = request.getfixturevalue("debian_cni" if old else "cni_plugins")
    folder = tmp_path_factory.mktemp(request.param)
    conf_dir = folder / "net.d"
    bin_dirs = [folder / "bin"] if old else [folder / "bin", folder / "more"]
    for each in (conf_dir, *bin_dirs):
        each.mkdir()
    shutil.copy(plugins / "loopback", bin_dirs[0])
    with (
        ContainerdRig(
            programs,
            busybox,
            bin_dirs=bin_dirs,
            conf_dir=conf_dir,
            cni={"max_conf_num": 2},
            env={"CNI_FOO": "stray"},
        ) as rig,
        Hooks(rig.folder / "hooks.sock", actions_of(rig)) as hooks,
    ):
        target = target_file(folder / "target.toml", rig, hooks, conf_dir, bin_dirs)
        yield Running(programs.version, target, conf_dir, bin_dirs[0])


@pytest.fixture(scope="module")
def judged(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """The suite's verdict on it."""
    name = f"containerd-{'.'.join(running.version.split('.')[:2])}"
    return judge(str(running.target), name, tmp_path_factory.mktemp("judged"))


def test_all_that_is_wrong_with_containerd_is_known(judged: Judged, running: Running) -> None:
    """Each entry of its expectations was checked by hand; a case more or less is news."""
    all_known(judged)
    if not running.version.startswith("1."):
        assert judged.cases["CNI-RT-019"].outcome == "xfail", "it dies of an index"


def test_the_suite_leaves_the_folders_of_containerd_as_they_were(
    judged: Judged, running: Running
) -> None:
    """Its plugins and files go, those of others stay."""
    assert judged.cases
    assert list(running.conf_dir.iterdir()) == []
    assert [path.name for path in running.bin_dir.iterdir()] == ["loopback"]


# Row -> the last calls that its report shows, acts of the suite among them.
SEQUENCES = {
    "CNI-RT-021": "c DEL, b DEL, a DEL, containerd stop, c DEL, b DEL, a DEL, containerd stop, "
    "c DEL, b DEL, a DEL, containerd remove",
    "CNI-RT-022": "a ADD, b ADD, c DEL, b DEL, a DEL, containerd run",
    "CNI-RT-027": "a ADD, b ADD, containerd run, b DEL, a DEL, containerd stop, b DEL, a DEL, "
    "containerd remove",
    "CNI-RT-028": "a ADD, b ADD, b DEL, a DEL, containerd stop, b DEL, a DEL, containerd remove",
}


@pytest.mark.parametrize("id", SEQUENCES)
def test_what_containerd_asks_of_plugins_can_be_read_off(judged: Judged, id: str) -> None:
    """The life of a pod, a failure, a namespace that is lost, a kill and a start: containerd does
    as the specification says, and the report shows how.
    """
    case = judged.cases[id]
    assert case.outcome == "pass"
    wanted = SEQUENCES[id].split(", ")
    assert [call["rpc"] for call in case.calls][-len(wanted) :] == wanted


def test_all_that_is_wrong_with_cnitool_is_known(cnitool: Path, tmp_path: Path) -> None:
    """And so with the reference library behind it, which most runtimes use."""
    if reason := why_not():
        pytest.skip(reason)
    all_known(judge(f"cnitool:{cnitool}", "cnitool", tmp_path))


if CRIO:

    def test_all_that_is_wrong_with_cri_o_is_known(tmp_path: Path) -> None:
        """Run as root, with a target file that has the hooks."""
        all_known(judge(CRIO, "crio", tmp_path))
