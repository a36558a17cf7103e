"""The whole plugin before a scripted kubelet: devices, personas, steering."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from refimpl.cdi import Cache
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.fake import FakePlugin
from refimpl.deviceplugin.plugin.inventory import HEALTHY, UNHEALTHY, Device
from refimpl.deviceplugin.plugin.personas import persona_of
from refimpl.wire.faults import Faults
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.scripted_kubelet import Connection, Rig


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A kubelet that runs, and plugins for it."""
    with Rig() as rig:
        yield rig


def test_health_devices_that_come_and_devices_that_go_are_told_on_every_stream(rig: Rig) -> None:
    """DP-PLG-014, 020 to 023, 026: a stream that kubelet has left behind eats nothing."""
    plugin = rig.plugin()
    connection = rig.kubelet.connected()
    assert plugin.wait_registered()
    onlooker = Connection(plugin.endpoint, rig.kubelet.changed)
    onlooker.watch()
    rig.kubelet.until(lambda: bool(onlooker.lists))
    for change, expected in (
        (lambda: plugin.set_health("gpu-1", UNHEALTHY), {"gpu-0": HEALTHY, "gpu-1": UNHEALTHY}),
        (lambda: plugin.set_health("gpu-1", HEALTHY), {"gpu-0": HEALTHY, "gpu-1": HEALTHY}),
        (lambda: plugin.remove("gpu-0"), {"gpu-1": HEALTHY}),
        (lambda: plugin.add("gpu-7"), {"gpu-1": HEALTHY, "gpu-7": HEALTHY}),
    ):
        change()
        for each in (connection, onlooker):
            rig.kubelet.until(lambda each=each, expected=expected: each.lists[-1] == expected)
    onlooker.cancel()
    onlooker.close()
    plugin.set_health("gpu-7", "odd")
    rig.kubelet.until(lambda: connection.lists[-1] == {"gpu-1": HEALTHY, "gpu-7": "odd"})
    assert plugin.registrations == 1


def test_allocate_is_answered_in_parallel_and_again(rig: Rig) -> None:
    """DP-PLG-029 to 032, 038, 047 to 049: also while health changes all the time."""
    plugin = rig.plugin(devices=16)
    connection = rig.kubelet.connected()
    assert plugin.wait_registered()
    done = threading.Event()

    def storm() -> None:
        words = itertools.cycle([UNHEALTHY, HEALTHY])
        while not done.wait(0.001):
            plugin.set_health("gpu-15", next(words))

    storming = threading.Thread(target=storm)
    storming.start()
    try:
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda n: connection.allocate(f"gpu-{n % 15}"), range(60)))
    finally:
        done.set()
        storming.join()
    ids = [answer.envs["REFIMPL_EXAMPLE_COM_GPU"] for answer in answers]
    assert ids == [f"gpu-{n % 15}" for n in range(60)]
    assert sorted(plugin.record.allocated) == sorted((f"gpu-{n % 15}",) for n in range(60))


def test_a_device_that_is_lost_during_its_allocate_stays_until_the_answer(rig: Rig) -> None:
    """DP-PLG-084: a list without it would end kubelet 1.37.2."""
    lists: list[dict[str, str]] = []

    class Losing(Faults):
        def point(self, name: str) -> None:
            if name == "Allocate.after_effect":
                plugin.remove("gpu-0")
                rig.kubelet.until(lambda: len(connection.lists) == 2)
                lists.append(connection.lists[-1])

    plugin = rig.plugin(faults=Losing())
    connection = rig.kubelet.connected()
    assert connection.allocate("gpu-0").devices
    assert lists == [{"gpu-0": UNHEALTHY, "gpu-1": HEALTHY}]
    rig.kubelet.until(lambda: connection.lists[-1] == {"gpu-1": HEALTHY})


# Personas


def test_flapping_changes_the_health_of_one_device(rig: Rig) -> None:
    """Once a second; here without the second."""
    rig.plugin(persona=attrs.evolve(persona_of("flapping"), flap_s=0.01))
    connection = rig.kubelet.connected()
    rig.kubelet.until(lambda: len({tuple(each.items()) for each in connection.lists}) == 2)
    rig.kubelet.until(lambda: len(connection.lists) > 5)
    assert all(each["gpu-1"] == HEALTHY for each in connection.lists)


def test_slow_answers_late_and_offers_everything(rig: Rig) -> None:
    """Every RPC waits, and none for the other."""
    plugin = rig.plugin(persona=attrs.evolve(persona_of("slow"), delay_s=0.05))
    connection = rig.kubelet.connected()
    assert rig.kubelet.options[0].pre_start_required
    assert rig.kubelet.options[0].get_preferred_allocation_available
    connection.allocate("gpu-1")
    connection.stub.PreStartContainer(pb.PreStartContainerRequest(devices_ids=["gpu-1"]))
    assert plugin.record.started == [("gpu-1",)]
    calls = [entry for entry in plugin.journal.entries if entry.rpc != "Register"]
    assert min(entry.duration_s for entry in calls) >= 0.05


def test_dying_ends_in_allocate_and_comes_back(rig: Rig) -> None:
    """After the effect, without an answer: as a crash loop does."""
    plugin = rig.plugin(persona="dying")
    for number in (1, 2):
        connection = rig.kubelet.connected(number)
        assert plugin.wait_registered(number)
        with pytest.raises(Refused) as caught:
            connection.allocate("gpu-0")
        assert caught.value.code in (Code.UNAVAILABLE, Code.CANCELLED)
        rig.kubelet.until(lambda connection=connection: connection.ended)
    rig.kubelet.connected(3)
    assert plugin.record.allocated == [("gpu-0",), ("gpu-0",)]


def test_many_is_ten_thousand_devices_in_one_message(rig: Rig) -> None:
    """DP-PLG-018: within gRPC's 4 MiB, which bound rig.kubelet."""
    rig.plugin(devices=None, persona="many")
    connection = rig.kubelet.connected()
    assert len(connection.lists[0]) == 10_000
    assert connection.messages[0].ByteSize() < 4 << 20


def test_topology_tells_numa_nodes_and_prefers_to_stay_on_one(rig: Rig) -> None:
    """Eight devices on two nodes in turn."""
    rig.plugin(devices=None, persona="topology")
    connection = rig.kubelet.connected()
    nodes = {d.ID: [node.ID for node in d.topology.nodes] for d in connection.messages[0].devices}
    assert nodes == {f"gpu-{number}": [number % 2] for number in range(8)}
    wanted = {"available_deviceIDs": sorted(nodes), "allocation_size": 3}
    request = pb.PreferredAllocationRequest(container_requests=[wanted])
    (answer,) = connection.stub.GetPreferredAllocation(request).container_responses
    assert list(answer.deviceIDs) == ["gpu-0", "gpu-2", "gpu-4"]


def test_cdi_names_devices_of_a_file_that_is_there_before(rig: Rig, tmp_path: Path) -> None:
    """DP-PLG-044: also a device that is added later; the file goes with the plugin."""
    plugin = rig.plugin(persona="cdi", cdi_dir=tmp_path)
    connection = rig.kubelet.connected()
    plugin.add("gpu-9")
    answer = connection.allocate("gpu-0", "gpu-9")
    names = [device.name for device in answer.cdi_devices]
    assert names == ["example.com/gpu=gpu-0", "example.com/gpu=gpu-9"]
    assert not answer.devices
    with Cache([tmp_path], watched=False) as cache:
        config = cache.inject({"ociVersion": "1.2.0", "process": {}, "linux": {}}, names)
    assert {node["path"] for node in config["linux"]["devices"]} == {"/dev/gpu-0", "/dev/gpu-9"}
    plugin.stop()
    assert list(tmp_path.iterdir()) == []


def test_a_plugin_without_devices_has_no_cdi_file_yet(rig: Rig, tmp_path: Path) -> None:
    """A CDI file names a device at least; the first one makes it."""
    plugin = rig.plugin(devices=0, persona="cdi", cdi_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []
    plugin.add("gpu-9")
    assert len(list(tmp_path.iterdir())) == 1


# Steering


def ask(control: str, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """One request to a control socket: status and answer."""
    connection = http.client.HTTPConnection("refimpl")
    connection.sock = socket.socket(socket.AF_UNIX)
    with connection.sock:
        connection.sock.connect(control)
        connection.request(method, path, json.dumps(body or {}))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_it_is_steered_over_its_control_socket(rig: Rig, tmp_path: Path) -> None:
    """So that a test in another language can break a device, and mend it."""
    control = str(tmp_path / "ctl.sock")
    plugin = rig.plugin(control=control)
    connection = rig.kubelet.connected()
    assert plugin.wait_registered()
    assert ask(control, "POST", "/health", {"id": "gpu-0", "health": "Unhealthy"}) == (200, {})
    rig.kubelet.until(lambda: connection.lists[-1]["gpu-0"] == UNHEALTHY)
    new = {"id": "gpu-9", "nodes": [1]}
    assert ask(control, "POST", "/devices", new)[0] == 200
    assert ask(control, "DELETE", "/devices", {"id": "gpu-1"})[0] == 200
    assert ask(control, "GET", "/devices")[1]["devices"] == [
        {"id": "gpu-0", "health": "Unhealthy", "nodes": None},
        {"id": "gpu-9", "health": "Healthy", "nodes": [1]},
    ]
    registration = {"registered": True, "registrations": 1, "problem": ""}
    assert ask(control, "GET", "/registration") == (200, registration)
    assert ask(control, "POST", "/registration")[0] == 200
    rig.kubelet.connected(2)
    for method, path, body, status in (
        ("POST", "/health", {"id": "none", "health": "Healthy"}, 404),
        ("POST", "/health", {"id": "gpu-0"}, 400),
        ("POST", "/health", {"id": 1, "health": "Healthy"}, 400),
        ("POST", "/devices", new, 400),
        ("POST", "/devices", {"id": "x", "nodes": ["0"]}, 400),
        ("DELETE", "/devices", {"id": "none"}, 404),
        ("DELETE", "/devices", {"id": "gpu-9", "force": True}, 400),
    ):
        assert ask(control, method, path, body)[0] == status, (method, path, body)


def test_faults_and_crash_points_work_as_in_every_fake(rig: Rig) -> None:
    """The points lie on both sides of the effect."""
    passed: list[str] = []

    class Watching(Faults):
        def point(self, name: str) -> None:
            passed.append(name)

    faults = Watching.from_yaml("- {when: {method: Allocate, nth: 2}, do: {status: INTERNAL}}")
    rig.plugin(faults=faults)
    connection = rig.kubelet.connected()
    connection.allocate("gpu-0")
    with pytest.raises(Refused, match="INTERNAL"):
        connection.allocate("gpu-0")
    assert passed == ["Allocate.before_effect", "Allocate.after_effect"]


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"persona": "evil"}, "there is no persona 'evil'; known are healthy, flapping"),
        ({"register": "pish"}, "register='pish': it is push, pull, both"),
        ({"devices": -1}, "example.com/gpu=-1"),
        ({"devices": ["a", "a"]}, "device 'a'"),
        ({"devices": [""]}, "device ''"),
    ],
)
def test_choices_that_do_not_exist_are_refused(
    tmp_path: Path, choices: dict[str, Any], says: str
) -> None:
    """Before anything is started."""
    with pytest.raises(ValueError, match=says):
        FakePlugin("example.com/gpu", folder=tmp_path / "kubelet", **choices)
    assert not (tmp_path / "kubelet").exists()


def test_a_folder_too_deep_is_said_and_leaves_nothing(rig: Rig) -> None:
    """DP-PLG-081: and not when the first kubelet dials."""
    plugin = FakePlugin("example.com/gpu", folder=rig.folder / ("d" * 90))
    with pytest.raises(ValueError, match="at most 107"):
        plugin.start()
    with pytest.raises(RuntimeError, match="before it is started"):
        _ = plugin.endpoint


def test_devices_may_be_given_one_by_one(rig: Rig) -> None:
    """Ids, or whole devices; and the folder of plugins may be named itself."""
    given = ["a", Device("b", UNHEALTHY, (1,))]
    plugin = rig.plugin(devices=given, folder=rig.kubelet.folder)
    assert rig.kubelet.connected().lists == [{"a": HEALTHY, "b": UNHEALTHY}]
    assert plugin.devices[1].nodes == (1,)
