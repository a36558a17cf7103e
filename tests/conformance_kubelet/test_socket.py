"""A kubelet that is judged by its pod-resources socket alone."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.deviceplugin.target import open_target
from conformance.engine.options import BadOption
from conformance.engine.scope import CaseScope
from conformance.engine.targets import life
from conformance.kubelet.socket import SocketClient
from conformance.kubelet.target import ClientTarget
from refimpl.deviceplugin.kubelet import FakeKubelet, Pod
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint
from tests.targets import resolved


@pytest.fixture
def kubelet() -> Iterator[FakeKubelet]:
    folder = tempfile.mkdtemp(prefix="kub-")
    with FakeKubelet(folder) as kubelet:
        yield kubelet
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize(
    ("target", "socket"),
    [
        ("unix:///run/k.sock", True),
        ("/run/kubelet", True),
        ("k.sock", True),
        ("./k", True),
        ("fake", False),
        ("fake:1.33", False),
    ],
)
def test_a_path_is_a_socket(target: str, socket: bool) -> None:
    """Then rows on pod resources make sense, and no others."""
    under_test = resolved("deviceplugin", target, side="client")
    assert (under_test.scheme == "unix") is socket
    assert under_test.judges("PR-001")
    assert under_test.judges("DP-KUB-001") is not socket


def test_its_pods_are_read_and_nothing_else_is_offered(kubelet: FakeKubelet) -> None:
    """Nor is anything of it ended, or removed from its folder."""
    kubelet.admit(Pod("uid", name="p"))
    target = open_target(resolved("deviceplugin", str(kubelet.pod_resources), side="client"))
    assert isinstance(target, ClientTarget)
    case = CaseScope()
    node = target.node(case)
    assert [each.name for each in node.podresources.listed()] == ["p"]
    assert target.lacks["pod-resources"] == ""
    assert target.lacks["pods"] == "pod-resources socket runs no pods here"
    case.close()
    target.renew()
    assert kubelet.layout.registry.is_dir()
    assert [each.name for each in target.node(case).podresources.listed()] == ["p"]
    target.close()
    assert Path(kubelet.pod_resources.path).is_socket()


def test_a_socket_that_goes_away_is_a_loss(kubelet: FakeKubelet) -> None:
    """It is told by its own path, and nobody starts it anew."""
    client = SocketClient(kubelet.pod_resources, "1.37")
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
        where = str(kubelet.pod_resources)
        target = open_target(resolved("deviceplugin", where, side="client", revision=revision))
        assert str(target.revision) == f"kubernetes-{release}"
        target.close()
    with pytest.raises(BadOption, match=r"csi-1\.12: there is kubernetes-1\.27"):
        resolved("deviceplugin", side="client", revision="csi-1.12")


def test_a_path_without_a_server_is_unreachable(tmp_path: Path) -> None:
    """Said at once for what never becomes one."""
    file = tmp_path / "file.sock"
    file.touch()
    client = SocketClient(Endpoint.parse(file), "1.37")
    with pytest.raises(Unreachable, match="no socket"):
        client.start()
    client.close()


def test_a_socket_whose_server_is_stopped_is_silent(
    kubelet: FakeKubelet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections, and nobody reads."""
    client = SocketClient(kubelet.pod_resources, "1.37")
    assert client.silence() == ""
    client.close()
    monkeypatch.setattr(life, "SIGN_S", 0.1)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.sock"))
        server.listen()
        client = SocketClient(Endpoint.parse(tmp_path / "s.sock"), "1.37")
        assert "it hangs" in client.silence()
        client.close()


def test_a_kubelet_that_comes_back_is_no_loss_for_good(kubelet: FakeKubelet) -> None:
    """Its own supervisor starts it again; the run goes on."""
    target = open_target(resolved("deviceplugin", str(kubelet.pod_resources), side="client"))
    kubelet.stop()
    again = threading.Timer(0.1, kubelet.start)
    again.start()
    loss = target.lost()
    again.join()
    assert loss
    assert loss.revived
    assert target.lost() is None
    target.close()


def test_a_kubelet_that_does_not_come_back_is_waited_for_once(
    kubelet: FakeKubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the run ends."""
    monkeypatch.setattr(life, "BACK_S", 0.1)
    target = open_target(resolved("deviceplugin", str(kubelet.pod_resources), side="client"))
    kubelet.stop()
    loss = target.lost()
    assert loss
    assert not loss.revived
    assert target.lost() is loss
    target.close()
