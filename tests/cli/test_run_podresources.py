"""`refimpl run podresources` shows what a kubelet tells agents of its node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from refimpl.deviceplugin.fake import FakePlugin
from refimpl.deviceplugin.kubelet import Container, FakeKubelet, Pod
from tests.cli.conftest import Command

GPU = "example.com/gpu"


@pytest.fixture
def kubelet() -> Iterator[FakeKubelet]:
    """With two devices on two NUMA nodes, a pod that has one, and one that has none."""
    with (
        TemporaryDirectory(prefix="kub-") as folder,
        FakeKubelet(folder) as running,
        FakePlugin(GPU, 2, folder=folder, persona="topology"),
    ):
        assert running.wait(lambda: running.node().allocatable.get(GPU) == 2)
        for name, limits in (("a", {GPU: 1}), ("b", {})):
            pod = Pod(name, app=(Container("main", limits),), name=name)
            assert running.admit(pod).accepted
        yield running


def test_devices_of_pods_are_a_line_each(refimpl: Command, kubelet: FakeKubelet) -> None:
    """With the container that has it; the others when asked for."""
    socket = str(kubelet.pod_resources)
    result = refimpl("run", "podresources", socket, "--flow", "list")
    (device,) = kubelet.allocated("a", "main", GPU)
    node = device[-1]
    assert result.stdout == f"default/a main  {GPU}  {device}  NUMA {node}\n"
    result = refimpl("run", "podresources", socket, "--flow", "list", "-v")
    assert result.stdout.splitlines()[1] == "default/b main  no device"


def test_all_that_can_be_had_is_a_line_each(refimpl: Command, kubelet: FakeKubelet) -> None:
    """Given to a pod or not."""
    socket = kubelet.pod_resources.path
    result = refimpl("run", "podresources", socket, "--flow", "allocatable")
    assert result.stdout == f"{GPU}  gpu-0  NUMA 0\n{GPU}  gpu-1  NUMA 1\n"


def test_what_cannot_be_asked_is_told(refimpl: Command, tmp_path: Path) -> None:
    """4 for words that make no sense, 6 where nobody answers."""
    words = ("run", "podresources", str(tmp_path / "a.txt"), "--flow", "list")
    result = refimpl(*words, "--profile", "x")
    assert (result.returncode, "--profile: an option of cni" in result.message) == (4, True)
    (tmp_path / "a.txt").touch()
    result = refimpl(*words)
    assert (result.returncode, "a.txt" in result.message) == (6, True)
