"""A kubelet that is judged by its pod-resources socket alone."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.deviceplugin.target import concerns, open_target
from conformance.engine.options import BadOption, Options
from conformance.kubelet.needs import Able
from conformance.kubelet.socket import SocketClient, is_socket
from refimpl.deviceplugin.kubelet import FakeKubelet, Pod
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint


@pytest.fixture
def kubelet() -> Iterator[FakeKubelet]:
    folder = tempfile.mkdtemp(prefix="kub-")
    with FakeKubelet(folder) as made:
        yield made
    shutil.rmtree(folder, ignore_errors=True)


def options(target: str, revision: str = "") -> Options:
    return Options(interface="deviceplugin", side="client", target=target, revision=revision)


@pytest.mark.parametrize(
    ("target", "socket"),
    [
        ("unix:///run/k.sock", True),
        ("/run/kubelet", True),
        ("k.sock", True),
        ("./k", True),
        ("fake", False),
        ("fake:1.33", False),
        ("/etc/mine.toml", False),
    ],
)
def test_a_path_is_a_socket(target: str, socket: bool) -> None:
    """Then rows on pod resources make sense, and no others."""
    assert is_socket(target) is socket
    if not target.endswith(".toml"):
        assert (concerns(options(target)) == ("PR-*",)) is socket


def test_its_pods_are_read_and_nothing_else_is_offered(kubelet: FakeKubelet) -> None:
    """Nor is anything of it ended, or removed from its folder."""
    kubelet.admit(Pod("uid", name="p"))
    target = open_target(options(str(kubelet.pod_resources)))
    side = target.client_side
    node = side.node()
    assert [each.name for each in node.podresources.listed()] == ["p"]
    assert Able("pod-resources").unmet(target) is None
    assert Able("pods").unmet(target) == "pod-resources socket runs no pods here"
    side.done(node)
    side.renew()
    assert kubelet.layout.registry.is_dir()
    assert [each.name for each in side.node().podresources.listed()] == ["p"]
    target.close()
    assert Path(kubelet.pod_resources.path).is_socket()


def test_a_socket_that_goes_away_is_a_loss(kubelet: FakeKubelet) -> None:
    """It is told by its own path, and nobody starts it anew."""
    client = SocketClient(kubelet.pod_resources)
    client.start()
    assert client.running()
    assert client.fate() == ""
    kubelet.stop()
    assert not client.running()
    assert client.fate() == f"{kubelet.pod_resources} is served no longer"
    client.close()
    assert not client.folder.exists()


def test_the_release_is_that_of_the_revision(kubelet: FakeKubelet) -> None:
    """A socket does not tell it; the newest is assumed."""
    for revision, release in (("kubernetes-1.33", "1.33"), ("1.30", "1.30"), ("", "1.37")):
        client = SocketClient(kubelet.pod_resources, revision)
        assert client.profile == release
        client.close()
    with pytest.raises(BadOption, match=r"csi-1\.12: name a release"):
        SocketClient(kubelet.pod_resources, "csi-1.12")


def test_a_path_without_a_server_is_unreachable(tmp_path: Path) -> None:
    """Said at once for what never becomes one."""
    file = tmp_path / "file.sock"
    file.touch()
    client = SocketClient(Endpoint.parse(file))
    with pytest.raises(Unreachable, match="no socket"):
        client.start()
    client.close()
