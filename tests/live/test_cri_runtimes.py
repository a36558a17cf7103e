"""The suite on real runtimes: all that is wrong with them is known."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.node.pods import IMAGE
from tests.live.peers import Containerd
from tests.live.rigs.containerd_rig import ContainerdRig
from tests.live.rigs.namespaces import why_not


@pytest.fixture(scope="module")
def rig(
    containerd: Containerd,
    cni_plugins: Path,
    busybox: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ContainerdRig]:
    """containerd with a bridge of its own."""
    if reason := why_not():
        pytest.skip(reason)
    networks = tmp_path_factory.mktemp("net")
    ipam = {
        "type": "host-local",
        "dataDir": str(networks / "ipam"),
        "subnet": "10.77.0.0/24",
    }
    bridge = {"type": "bridge", "bridge": "pods0", "isGateway": True, "ipam": ipam}
    network = {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}
    (networks / "10-pods.conflist").write_text(json.dumps(network))
    with ContainerdRig(containerd, busybox, bin_dirs=[cni_plugins], conf_dir=networks) as rig:
        yield rig


def test_all_that_is_wrong_with_containerd_is_known(rig: ContainerdRig, tmp_path: Path) -> None:
    """Each entry of the expectation file has its rule."""
    target = tmp_path / "containerd.toml"
    target.write_text(
        f"endpoint = {json.dumps(str(rig.endpoint))}\n[cri]\n"
        f"cgroup_parent = {json.dumps(rig.cgroup_parent)}\n"
        f"netns = {json.dumps(rig.namespaces.netns)}\n"
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "refimpl", "test", "cri", str(target)),
            *("--strict", "--expect", "containerd-2.4-cri", "-n", "2"),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert rig.pods() == {}, "nothing is left"


def test_kubelet_is_played_against_containerd(rig: ContainerdRig) -> None:
    """A pod from start to removal: nothing is refused, and kubelet could use every reply."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "refimpl", "run", "cri", str(rig.endpoint)),
            *("--flow", "pod", "--image", IMAGE, "--host-network"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "  probe true: success" in done.stdout.splitlines()
    assert rig.pods() == {}, "nothing is left"
