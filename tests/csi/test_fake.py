"""The whole driver: sockets, restarts, and what it leaves behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.csi.kubelet import Driver
from refimpl.csi.profiles import settings_of
from refimpl.registration.watcher import PluginWatcher
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Faults
from refimpl.wire.status import Code


def request(name: str = "a") -> pb.CreateVolumeRequest:
    request = pb.CreateVolumeRequest(name=name)
    request.capacity_range.required_bytes = 1 << 20
    capability = request.volume_capabilities.add()
    capability.mount.SetInParent()
    capability.access_mode.mode = 1
    return request


def listed(endpoint: Endpoint) -> list[pb.ListVolumesResponse.Entry]:
    with Channel(endpoint) as channel:
        return list(Driver.over(channel).controller.ListVolumes(pb.ListVolumesRequest()).entries)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket, no directory, no file; not even in the place for temporary ones."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with FakeDriver(storage="directory") as driver, Channel(driver.endpoint) as channel:
        Driver.over(channel).controller.CreateVolume(request())
        path = driver.endpoint.path
        assert os.listdir(os.path.dirname(path)) == ["csi.sock"]
    assert list(tmp_path.iterdir()) == []
    assert not os.path.exists(path)


def test_a_fake_may_be_started_again(tmp_path: Path) -> None:
    """Without a state directory it starts empty, at the same endpoint."""
    driver = FakeDriver(tmp_path / "csi.sock", storage="memory")
    for _ in range(2):
        with driver, Channel(driver.endpoint) as channel:
            Driver.over(channel).controller.CreateVolume(request())
            assert len(listed(driver.endpoint)) == 1
    driver.stop()


def test_what_needs_a_running_driver_says_so() -> None:
    """Instead of an AttributeError somewhere inside."""
    driver = FakeDriver(storage="memory")
    for part in ("state", "nodes", "storage"):
        with pytest.raises(RuntimeError, match=r"start"):
            getattr(driver, part)


@pytest.mark.parametrize("split", [False, True])
def test_every_node_has_an_endpoint_with_the_same_identity(split: bool, tmp_path: Path) -> None:
    """One driver, whichever socket is asked; the volumes are the same on all nodes."""
    with FakeDriver(
        tmp_path / "csi.sock", nodes=3, split=split, storage="memory", profile="topology"
    ) as driver:
        assert len(set(map(str, driver.nodes))) == 3
        assert (driver.endpoint in driver.nodes) is not split
        answers, zones = [], []
        for number, endpoint in enumerate(driver.nodes):
            with Channel(endpoint) as channel:
                calls = Driver.over(channel)
                info = calls.node.NodeGetInfo(pb.NodeGetInfoRequest())
                assert info.node_id == f"node-{number}"
                zones.append(dict(info.accessible_topology.segments))
                answers.append(
                    (
                        calls.identity.GetPluginInfo(pb.GetPluginInfoRequest()),
                        calls.identity.GetPluginCapabilities(pb.GetPluginCapabilitiesRequest()),
                    )
                )
        assert answers[0] == answers[1] == answers[2]
        assert [zone["topology.csi.refimpl.example/zone"] for zone in zones] == [
            "zone-a",
            "zone-b",
            "zone-c",
        ]
    assert list(tmp_path.iterdir()) == []


def test_a_split_driver_has_no_node_at_the_controllers_socket(refused: Any) -> None:
    """As where the two run in different pods."""
    with FakeDriver(split=True, storage="memory") as driver, Channel(driver.endpoint) as channel:
        with refused(Code.UNIMPLEMENTED):
            Driver.over(channel).node.NodeGetInfo(pb.NodeGetInfoRequest())
        with Channel(driver.nodes[0]) as other, refused(Code.UNIMPLEMENTED):
            Driver.over(other).controller.CreateVolume(request())


def test_nodes_on_tcp_have_ports_of_their_own() -> None:
    """The first one where it was asked for, the others where there is room."""
    with FakeDriver("tcp://127.0.0.1:0", nodes=2, storage="memory") as driver:
        ports = [endpoint.port for endpoint in driver.nodes]
        assert all(ports)
        assert len(set(ports)) == 2


def test_a_state_directory_is_remembered(tmp_path: Path, refused: Any) -> None:
    """Volumes, contexts, snapshots, attachments and faults; tokens of before are foreign."""
    driver = FakeDriver(state_dir=tmp_path / "state", storage="directory")
    with driver, Channel(driver.endpoint) as channel:
        controller = Driver.over(channel).controller
        volumes = [controller.CreateVolume(request(name)).volume for name in "abc"]
        controller.ControllerPublishVolume(
            pb.ControllerPublishVolumeRequest(
                volume_id=volumes[0].volume_id,
                node_id="node-0",
                volume_capability=request().volume_capabilities[0],
            )
        )
        snapshot = controller.CreateSnapshot(
            pb.CreateSnapshotRequest(source_volume_id=volumes[1].volume_id, name="s")
        ).snapshot
        driver.break_volume(volumes[2].volume_id)
        before = listed(driver.endpoint)
        token = controller.ListVolumes(pb.ListVolumesRequest(max_entries=1)).next_token
    with driver, Channel(driver.endpoint) as channel:
        controller = Driver.over(channel).controller
        assert listed(driver.endpoint) == before
        assert controller.CreateVolume(request("a")).volume == volumes[0]
        page = controller.ListSnapshots(pb.ListSnapshotsRequest())
        assert [entry.snapshot for entry in page.entries] == [snapshot]
        health = pb.ControllerGetVolumeHealthRequest(volume_id=volumes[2].volume_id)
        assert controller.ControllerGetVolumeHealth(health).volume_health.health_statuses
        with refused(Code.ABORTED):
            controller.ListVolumes(pb.ListVolumesRequest(starting_token=token))


def test_crash_points_lie_on_both_sides_of_the_writing(tmp_path: Path) -> None:
    """Between effect and record a driver can be killed, too."""
    passed: list[str] = []

    class Watching(Faults):
        def point(self, name: str) -> None:
            passed.append(name)

    with (
        FakeDriver(faults=Watching(), state_dir=tmp_path / "state", storage="memory") as driver,
        Channel(driver.endpoint) as channel,
    ):
        Driver.over(channel).controller.CreateVolume(request())
    assert passed == [
        "CreateVolume.before_effect",
        "volume.before_write",
        "volume.after_write",
        "CreateVolume.after_effect",
    ]


def test_choices_are_profile_then_without_then_settings() -> None:
    """Each one narrower than the one before."""
    driver = FakeDriver(
        profile="topology", without=["CLONE_VOLUME"], settings={"granule": "1Mi", "zones": ("x",)}
    )
    assert not driver.settings.has("controller", "CLONE_VOLUME")
    assert (driver.settings.granule, driver.settings.zones) == (1 << 20, ("x",))
    assert driver.settings.pool_per_zone
    explicit = FakeDriver(profile=settings_of("no-attach"))
    assert explicit.settings == settings_of("no-attach")


@pytest.mark.parametrize(
    "choices",
    [
        {"profile": "unknown"},
        {"without": ["UNKNOWN"]},
        {"settings": {"unknown": 1}},
        {"nodes": 0},
    ],
)
def test_choices_that_do_not_exist_are_refused(choices: dict[str, Any]) -> None:
    """Before anything is started."""
    with pytest.raises(ValueError, match=r"(?i)unknown|nodes=0"):
        FakeDriver(**choices)


def test_a_taken_endpoint_leaves_nothing_open(tmp_path: Path) -> None:
    """The second driver fails and gives its state directory back."""
    with FakeDriver(tmp_path / "csi.sock", storage="memory") as first:
        second = FakeDriver(tmp_path / "csi.sock", state_dir=tmp_path / "state", storage="memory")
        with pytest.raises(ValueError, match=r"csi\.sock"):
            second.start()
        with FakeDriver(state_dir=tmp_path / "state", storage="memory") as third:
            assert listed(third.endpoint) == listed(first.endpoint) == []


def test_the_clock_can_be_given() -> None:
    """So that a snapshot becomes ready without waiting."""
    now = [100.0]
    with (
        FakeDriver(profile="late-snapshots", clock=lambda: now[0], storage="memory") as driver,
        Channel(driver.endpoint) as channel,
    ):
        controller = Driver.over(channel).controller
        volume = controller.CreateVolume(request()).volume
        cut = pb.CreateSnapshotRequest(source_volume_id=volume.volume_id, name="s")
        assert not controller.CreateSnapshot(cut).snapshot.ready_to_use
        now[0] += 2
        assert controller.CreateSnapshot(cut).snapshot.ready_to_use


class Storage:
    """Kubelet's handler of drivers: takes in everybody."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, ...]] = []

    def validate(self, name: str, endpoint: str, versions: Sequence[str]) -> None:
        self.seen.append((name, endpoint, *versions))

    def register(self, name: str, endpoint: str, versions: Sequence[str]) -> None:
        with Channel(Endpoint.parse(endpoint)) as channel:
            info = Driver.over(channel).node.NodeGetInfo(pb.NodeGetInfoRequest())
        self.seen.append((info.node_id,))

    def deregister(self, name: str, endpoint: str) -> None:
        self.seen.append(("gone", name))


@pytest.mark.parametrize("split", [False, True])
def test_a_driver_registers_with_a_kubelet_by_itself(split: bool) -> None:
    """Under the name of a registrar's socket, and with the socket of its node."""
    handler = Storage()
    # A socket's path is short; pytest's own folders may be too deep.
    with tempfile.TemporaryDirectory(prefix="csi-") as folder:
        registry, socket = Path(folder, "registry"), Path(folder, "csi.sock")
        node = Path(folder, "csi-0.sock") if split else socket
        with PluginWatcher(registry, {"CSIPlugin": handler}) as watcher:
            with FakeDriver(socket, split=split, register=registry) as driver:
                assert os.listdir(registry) == ["csi.refimpl.example-reg.sock"]
                assert driver.registration.wait_notified()
                assert driver.registration.registered
            assert os.listdir(registry) == []
            assert watcher.wait(lambda: len(handler.seen) == 3)
    name = "csi.refimpl.example"
    assert handler.seen == [(name, str(node), "1.0.0"), ("node-0",), ("gone", name)]


def test_a_driver_registers_only_where_it_is_told_to(tmp_path: Path) -> None:
    """And kubelet calls no driver over TCP."""
    with FakeDriver() as driver, pytest.raises(RuntimeError, match="registers nowhere"):
        driver.registration.wait_notified(timeout_s=0)
    with pytest.raises(ValueError, match="only unix:"):
        FakeDriver("tcp://127.0.0.1:0", register=tmp_path)
