"""The rig itself: a real containerd and real plugins do what the rig says, and leave nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.live.peers import Containerd
from tests.live.rigs.containerd_rig import ContainerdRig
from tests.live.rigs.namespaces import until, why_not


@pytest.fixture(params=["containerd", "debian_containerd"])
def runtime(request: pytest.FixtureRequest) -> Containerd:
    """Both versions in turn."""
    runtime: Containerd = request.getfixturevalue(request.param)
    return runtime


@pytest.fixture
def plugins(runtime: Containerd, request: pytest.FixtureRequest) -> Path:
    """The plugins of the same age as the runtime."""
    name = "debian_cni" if runtime.version.startswith("1.") else "cni_plugins"
    folder: Path = request.getfixturevalue(name)
    return folder


@pytest.fixture
def rig(
    runtime: Containerd, plugins: Path, busybox: Path, tmp_path: Path
) -> Iterator[ContainerdRig]:
    """A rig with one network, a bridge, whose addresses are kept below tmp_path."""
    if reason := why_not():
        pytest.skip(reason)
    ipam = {"type": "host-local", "dataDir": str(tmp_path / "ipam"), "subnet": "10.77.0.0/24"}
    bridge = {"type": "bridge", "bridge": "pods0", "isGateway": True, "ipam": ipam}
    network = {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}
    networks = tmp_path / "net.d"
    networks.mkdir()
    (networks / "10-pods.conflist").write_text(json.dumps(network))
    with ContainerdRig(runtime, busybox, bin_dirs=[plugins], conf_dir=networks) as rig:
        yield rig


def leases(tmp_path: Path) -> list[str]:
    """The addresses that host-local has given out."""
    return sorted(path.name for path in (tmp_path / "ipam" / "pods").glob("10.*"))


def test_a_pod_has_the_address_that_a_plugin_gave_it_until_it_is_stopped(
    rig: ContainerdRig, tmp_path: Path
) -> None:
    """What containerd reports, what IPAM has noted and what the kernel has are the same."""
    pod = rig.run_pod()
    address = rig.cri.pod_sandbox_status(pod).status.network.ip
    assert leases(tmp_path) == [address]
    inside = (f"--net={rig.netns(pod)}", "ip", "-o", "addr", "show", "eth0")
    assert f"inet {address}/24" in rig.namespaces.run("nsenter", *inside)
    assert "pods-" in " ".join(path.name for path in rig.cache())
    rig.cri.stop_pod_sandbox(pod)
    rig.cri.remove_pod_sandbox(pod)
    assert (leases(tmp_path), rig.pods(), rig.cache()) == ([], {}, [])


def test_pods_outlive_containerd_but_no_reboot(rig: ContainerdRig) -> None:
    """So restarts can be told from reboots in cases: shims stay, namespaces do not."""
    pod = rig.run_pod()
    rig.restart()
    assert rig.pods() == {pod: "SANDBOX_READY"}
    rig.kill()
    assert not rig.running()
    assert "sleep" in {process.name() for process in rig.processes()}
    rig.start()
    assert rig.pods() == {pod: "SANDBOX_READY"}
    rig.reboot()
    assert rig.pods() == {pod: "SANDBOX_NOTREADY"}
    assert rig.cache(), "what lies on the disk is still there"


def test_nothing_is_left_of_a_rig_that_was_left_in_the_middle(rig: ContainerdRig) -> None:
    """Pods run, one containerd was killed, nobody cleaned up: close() has to do it all."""
    rig.run_pod()
    rig.kill()
    ran = rig.processes()
    assert ran
    rig.close()
    assert not [process for process in ran if process.is_running()]
    assert not rig.folder.exists()
    mounts = Path("/proc/self/mountinfo").read_text()
    assert str(rig.folder) not in mounts
    cgroups = Path("/sys/fs/cgroup")
    assert not list(cgroups.glob(f"**{rig.cgroup_parent}"))


ABANDONED = """
import os, signal, sys
from pathlib import Path
from tests.live.rigs.namespaces import Namespaces

namespaces = Namespaces(Path(sys.argv[1]))
with open(os.devnull, "ab") as log:
    namespaces.start("sleep", "3600", log=log, env=dict(os.environ))
print(*(process.pid for process in namespaces.processes()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_end_with_a_test_run_that_is_killed(tmp_path: Path) -> None:
    """The kernel closes the pipe that the first process reads; nobody is left to do more."""
    if reason := why_not():
        pytest.skip(reason)
    done = subprocess.run(
        [sys.executable, "-c", ABANDONED, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    pids = [int(word) for word in done.stdout.split()]
    assert pids, done.stderr
    until(lambda: not any(map(psutil.pid_exists, pids)), "the kernel ends them")
