"""Breaking and repairing a driver, from Python and over the control socket."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel
from refimpl.wire.status import Code


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[FakeDriver]:
    """Two nodes, two volumes, and a control socket."""
    settings = {"preprovisioned": ("v", "w")}
    with FakeDriver(
        nodes=2, storage="memory", settings=settings, control=tmp_path / "ctl.sock"
    ) as running:
        yield running


def reasons(driver: FakeDriver, node: int | None = None) -> list[str]:
    """What is told of volume v, by the controller or a node."""
    endpoint = driver.endpoint if node is None else driver.nodes[node]
    with Channel(endpoint) as channel:
        calls = Driver.over(channel)
        if node is None:
            ask = pb.ControllerGetVolumeHealthRequest(volume_id="v")
            health = calls.controller.ControllerGetVolumeHealth(ask).volume_health
        else:
            health = calls.node.NodeGetVolumeHealth(
                pb.NodeGetVolumeHealthRequest(volume_id="v")
            ).volume_health
    return [entry.reason for entry in health.health_statuses]


def storage_reasons(driver: FakeDriver, node: int) -> list[str]:
    with Channel(driver.nodes[node]) as channel:
        answer = Driver.over(channel).node.NodeGetStorageHealth(pb.NodeGetStorageHealthRequest())
    return [entry.reason for entry in answer.backend_health]


def steer(driver: FakeDriver, method: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """One request to /health of the control socket."""
    assert driver.control is not None
    assert driver.control.endpoint is not None
    connection = http.client.HTTPConnection("refimpl")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(driver.control.endpoint.path)
    connection.request(method, "/health", json.dumps(body) if body is not None else None)
    answer = connection.getresponse()
    value = json.loads(answer.read())
    connection.close()
    return answer.status, value


def test_a_broken_volume_is_told_by_everyone(driver: FakeDriver) -> None:
    """Until it is repaired."""
    driver.break_volume("v", "INACCESSIBLE", "Gone")
    assert reasons(driver) == reasons(driver, 0) == reasons(driver, 1) == ["Gone"]
    driver.repair_volume("v")
    assert reasons(driver) == reasons(driver, 0) == []


@pytest.mark.parametrize("name", [1, "node-1"])
def test_a_node_may_be_cut_off_alone(driver: FakeDriver, name: str | int) -> None:
    """By number or id; the controller does not speak for one node."""
    driver.break_volume("v", reason="PathDown", node=name)
    assert (reasons(driver, 1), reasons(driver, 0), reasons(driver)) == (["PathDown"], [], [])
    driver.repair_volume("v", node=name)
    assert reasons(driver, 1) == []


def test_storage_is_broken_for_all_nodes_or_one(driver: FakeDriver) -> None:
    """And repaired by reason or altogether."""
    driver.break_storage(reason="Slow")
    driver.break_storage("STORAGE_UNREACHABLE", "Cut", node=1)
    assert (storage_reasons(driver, 0), storage_reasons(driver, 1)) == (["Slow"], ["Slow", "Cut"])
    driver.repair_storage("Slow")
    assert storage_reasons(driver, 1) == ["Cut"]
    driver.repair_storage()
    assert storage_reasons(driver, 1) == []


def test_a_missing_dependency_fails_the_probe(driver: FakeDriver, refused: Any) -> None:
    """Until it is back."""
    with Channel(driver.endpoint) as channel:
        identity = Driver.over(channel).identity
        driver.break_dependency("the array")
        with refused(Code.FAILED_PRECONDITION, "the array"):
            identity.Probe(pb.ProbeRequest())
        driver.repair_dependency()
        assert identity.Probe(pb.ProbeRequest()).ready.value


def test_the_control_socket_breaks_tells_and_repairs(driver: FakeDriver) -> None:
    """So that a test in another language can do it."""
    assert steer(driver, "GET") == (200, {"volumes": [], "storage": []})
    assert (
        steer(driver, "POST", {"volume_id": "v", "status": "DATA_LOSS", "reason": "Rot"})[0] == 200
    )
    assert steer(driver, "POST", {"reason": "Slow", "node": 1})[0] == 200
    assert reasons(driver) == ["Rot"]
    assert storage_reasons(driver, 1) == ["Slow"]
    status, health = steer(driver, "GET")
    assert status == 200
    assert health["volumes"][0]["faults"][0]["status"] == "DATA_LOSS"
    assert health["storage"][0]["node_id"] == "node-1"
    assert steer(driver, "DELETE", {"volume_id": "v"})[0] == 200
    assert steer(driver, "DELETE", {})[0] == 200
    assert steer(driver, "GET") == (200, {"volumes": [], "storage": []})


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"volume_id": "none"}, 409, "NOT_FOUND"),
        ({"volume_id": "v", "status": "BAD"}, 400, "DEGRADED"),
        ({"volume_id": "v", "colour": "red"}, 400, "colour"),
        ({"reason": "too slow"}, 400, "CamelCase"),
    ],
)
def test_what_cannot_be_broken_is_told(
    driver: FakeDriver, body: dict[str, Any], status: int, message: str
) -> None:
    """With the rule, not with a traceback."""
    answer = steer(driver, "POST", body)
    assert answer[0] == status
    assert message in answer[1]["error"]


def test_what_works_on_a_held_volume_waits(driver: FakeDriver) -> None:
    """As where the storage hangs: questions are answered meanwhile, and nothing is lost."""
    request = pb.ControllerPublishVolumeRequest(volume_id="v", node_id="node-0")
    request.volume_capability.mount.SetInParent()
    request.volume_capability.access_mode.mode = pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
    driver.hold_volume("v")
    with ThreadPoolExecutor(1) as pool, Channel(driver.endpoint) as channel:
        calls = Driver.over(channel)
        publishing = pool.submit(calls.controller.ControllerPublishVolume, request)
        assert reasons(driver) == []
        assert driver.journal.calls("ControllerPublishVolume") == []
        driver.release_volume("v")
        assert publishing.result().publish_context


def test_a_volume_that_is_not_held_can_be_released(driver: FakeDriver) -> None:
    """Whoever tidies up does not know what is left."""
    driver.release_volume("v")
