"""What a killed run leaves in containerd is told by the next run, and removed by a sweep."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from tests.live.peers import Containerd
from tests.live.rigs.containerd_rig import ContainerdRig
from tests.live.rigs.namespaces import until, why_not

REFIMPL = (sys.executable, "-m", "refimpl")


@attrs.frozen
class Node:
    """A containerd, the folders that the suite writes to, and where its records go."""

    rig: ContainerdRig
    folder: Path

    @property
    def folders(self) -> dict[str, Path]:
        """Where it reads configurations, looks for plugins, and has its devices from."""
        return {name: self.folder / name for name in ("net.d", "bin", "cdi")}

    def left(self) -> list[str]:
        """The files there are, the pods, the folders of the suite, the records."""
        files = [path.name for folder in self.folders.values() for path in folder.iterdir()]
        ours = [path.name for path in self.temporary.iterdir()]
        records = [path.name for path in self.folder.glob("state/refimpl/ledgers/*")]
        return sorted([*files, *self.rig.pods(), *ours, *records])

    @property
    def temporary(self) -> Path:
        """TMPDIR of the runs."""
        return self.folder / "tmp"

    def command(self, act: str, iface: str) -> list[str]:
        """`refimpl ACT IFACE TARGET` with its options."""
        net, bin, cdi = (str(each) for each in self.folders.values())
        options = {"cni": ["--cni-conf-dir", net, "--cni-bin-dir", bin], "cdi": ["--cdi-dir", cdi]}
        target = self.folder / "target.toml"
        group = f'[{iface}]\ncgroup_parent = "{self.rig.cgroup_parent}"\n'
        target.write_text(f'endpoint = "{self.rig.endpoint}"\n{group}')
        return [*REFIMPL, act, iface, str(target), *options[iface]]

    @property
    def env(self) -> dict[str, str]:
        """Of both commands."""
        state = str(self.folder / "state")
        ours = {"XDG_STATE_HOME": state, "TMPDIR": str(self.temporary)}
        # A run has workers of its own.
        return {**os.environ, **ours, "PYTEST_XDIST_WORKER": "main"}

    def run(self, act: str, iface: str, *words: str) -> subprocess.CompletedProcess[str]:
        """How the command ended."""
        return subprocess.run(
            [*self.command(act, iface), *words],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def kill(self, iface: str, case: str, when: Callable[[], bool]) -> None:
        """A run of one case, killed as soon as something is there."""
        words = [*self.command("test", iface), "--only", case]
        with subprocess.Popen(words, env=self.env, stdout=subprocess.DEVNULL) as run:
            try:
                until(lambda: when() or run.poll() is not None, "something to leave")
            finally:
                run.send_signal(signal.SIGKILL)
        assert run.returncode == -signal.SIGKILL, "it ended before it could be killed"


@pytest.fixture(scope="module")
def node(
    containerd: Containerd,
    cni_plugins: Path,
    busybox: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Node]:
    """One for all tests."""
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("node")
    for name in ("net.d", "bin", "cdi", "tmp"):
        (folder / name).mkdir()
    (folder / "bin/loopback").write_bytes((cni_plugins / "loopback").read_bytes())
    (folder / "bin/loopback").chmod(0o755)
    cri = {"enable_cdi": True, "cdi_spec_dirs": [str(folder / "cdi")]}
    with ContainerdRig(
        containerd, busybox, bin_dirs=[folder / "bin"], conf_dir=folder / "net.d", cri=cri
    ) as rig:
        yield Node(rig, folder)


# A pod that lives; one whose network stays as long as a plugin says what it was told.
@pytest.mark.parametrize("case", ["CNI-RT-021", "CNI-RT-023"])
def test_a_sweep_after_a_killed_cni_run_leaves_nothing_of_it(node: Node, case: str) -> None:
    """The next run tells of the configuration before that; one of others stays."""
    conf = node.folders["net.d"]
    theirs = conf / "99-theirs.conflist"
    theirs.write_text(
        '{"cniVersion": "1.0.0", "name": "theirs", "plugins": [{"type": "loopback"}]}'
    )
    before = node.left()
    node.kill("cni", case, lambda: bool(node.rig.pods()))
    assert node.rig.pods()
    (left,) = [path for path in conf.iterdir() if path != theirs]
    run = node.run("test", "cni", "--only", "CNI-RT-004", "-q")
    assert f"{left}: a killed run left it" in run.stderr
    assert f"refimpl sweep cni {node.folder}/target.toml" in run.stderr
    done = node.run("sweep", "cni")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"file {left} removed" in done.stdout
    assert node.left() == before
    theirs.unlink()


def test_a_sweep_after_a_killed_cdi_run_leaves_nothing_of_it(node: Node) -> None:
    """Its pod goes with all containers."""
    before = node.left()
    node.kill("cdi", "CDI-*", lambda: any(node.folders["cdi"].iterdir()))
    assert node.rig.pods()
    done = node.run("sweep", "cdi")
    assert done.returncode == 0, done.stdout + done.stderr
    assert node.left() == before
