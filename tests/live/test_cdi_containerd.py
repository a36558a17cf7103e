"""CDI in containerd: judged by the suite, and compared edit by edit with our own injection."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from conformance.cdi.documents import OCI, document, hook
from conformance.cdi.runtime import CriImplementation
from conformance.cdi.settings import CdiSettings
from refimpl.cdi import CHOICES, Cache
from tests.live.peers import Containerd
from tests.live.rigs.containerd_rig import ContainerdRig
from tests.live.rigs.namespaces import why_not

# A library's version as containerd 2.4 has it.
LIBRARY = CHOICES["library-1.1.0"]
NODE = {"path": "/dev/refimpl", "type": "c", "major": 240, "minor": 7}
EDITS: dict[str, dict[str, Any]] = {
    "env": {"env": ["REFIMPL=1", "REFIMPL_EMPTY=", "REFIMPL_TWO=a=b"]},
    "node of the host": {"deviceNodes": [{"path": "/dev/refimpl", "hostPath": "/dev/null"}]},
    "node described": {"deviceNodes": [NODE]},
    "node restricted": {
        "deviceNodes": [{**NODE, "permissions": "r", "uid": 5, "gid": 6, "fileMode": 0o640}]
    },
    "mounts": {
        "mounts": [
            {"hostPath": "/opt", "containerPath": "/opt/a/b", "options": ["ro", "rbind"]},
            {"hostPath": "/opt", "containerPath": "/opt/a", "type": "bind", "options": ["bind"]},
            {"hostPath": "/opt", "containerPath": "/dev/shm", "options": ["bind"]},
        ]
    },
    "hooks": {
        "hooks": [
            hook("/opt/one", args=["one", "x"], env=["A=b"], timeout=5),
            hook("/opt/two", "poststop"),
            hook("/opt/three", "prestart"),
        ]
    },
    "groups": {"additionalGids": [0, 5, 5, 6]},
    "intelRdt": {"intelRdt": {"closID": "refimpl"}},
    "netDevices": {"netDevices": [{"hostInterfaceName": "host0", "name": "net0"}]},
}


@attrs.frozen
class Node:
    """A containerd with one directory of CDI files."""

    rig: ContainerdRig
    directories: list[Path]

    @property
    def settings(self) -> CdiSettings:
        """As the target of a test run has them."""
        dirs = [str(each) for each in self.directories]
        return CdiSettings(dirs=dirs, cgroup_parent=self.rig.cgroup_parent)


@pytest.fixture(scope="module")
def node(
    containerd: Containerd,
    cni_plugins: Path,
    busybox: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Node]:
    """One for all tests: each has files of its own."""
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("cdi")
    directories = [folder / "etc", folder / "run"]
    for each in (*directories, folder / "net"):
        each.mkdir()
    cri = {"enable_cdi": True, "cdi_spec_dirs": [str(each) for each in directories]}
    with ContainerdRig(
        containerd, busybox, bin_dirs=[cni_plugins], conf_dir=folder / "net", cri=cri
    ) as rig:
        yield Node(rig, directories)


@pytest.fixture
def runtime(node: Node) -> Iterator[CriImplementation]:
    """As the suite speaks to it."""
    runtime = CriImplementation(str(node.rig.endpoint), node.settings)
    yield runtime
    runtime.close()


def test_all_that_is_wrong_with_containerd_is_known(node: Node, tmp_path: Path) -> None:
    """Among it CDI-058: a device that is missing fails CreateContainer, which names it."""
    (tmp_path / "containerd.toml").write_text(
        f"endpoint = {json.dumps(str(node.rig.endpoint))}\n[cdi]\n"
        f"dirs = {json.dumps(node.settings.dirs)}\n"
        f"cgroup_parent = {json.dumps(node.settings.cgroup_parent)}\n"
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "refimpl", "test", "cdi", str(tmp_path / "containerd.toml")),
            *("--strict", "--expect", "containerd-cdi"),
        ],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "13 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("label", EDITS)
def test_the_same_file_gives_the_same_edits(
    node: Node, runtime: CriImplementation, label: str
) -> None:
    """Of a container without devices and one with them the difference is ours."""
    kind = f"{re.sub('[^a-z]', '-', label.lower())}.example/device"
    spec = {"env": ["REFIMPL_SPEC=1"]}
    path = node.directories[1] / f"{kind.partition('/')[0]}.json"
    path.write_text(json.dumps(document(kind=kind, edits=EDITS[label], spec=spec)))
    runtime.answer("open", {})
    bare = created(runtime)
    theirs = created(runtime, f"{kind}=a")
    with Cache(node.directories, watched=False) as cache:
        ours = cache.inject(bare, [f"{kind}=a"], choices=LIBRARY)
    assert whole(ours) == whole(theirs)
    assert whole(bare) != whole(theirs)


def created(runtime: CriImplementation, *names: str) -> dict[str, Any]:
    """The OCI config of a container with these devices, without what is its own."""
    reply = runtime.answer("inject", {"config": OCI, "devices": names})
    assert "error" not in reply, reply
    config: dict[str, Any] = json.loads(
        re.sub(r"\b[0-9a-f]{64}\b", "id", json.dumps(reply["config"]))
    )
    return config


def whole(config: Any) -> Any:
    """A config without members that say nothing, which Go leaves out."""
    if isinstance(config, dict):
        kept = {key: whole(each) for key, each in config.items()}
        return {key: each for key, each in kept.items() if each not in ({}, [], "", None)}
    return [whole(each) for each in config] if isinstance(config, list) else config
