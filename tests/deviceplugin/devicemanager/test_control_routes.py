"""Steering a fake kubelet over its control socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refimpl.deviceplugin.kubelet import FakeKubelet
from tests.deviceplugin.kubelet_rig import GPU, Scripted

UID, POD = "uid-1", {"uid": "uid-1", "containers": [{"name": "main", "limits": {GPU: 1}}]}


@pytest.fixture
def joined(kubelet: FakeKubelet, folder: Path) -> Iterator[Scripted]:
    """A plugin with two devices."""
    plugin = Scripted(folder).join(kubelet, "a", "b")
    yield plugin
    plugin.stop()


@pytest.mark.usefixtures("joined")
def test_a_pod_is_admitted_shown_and_taken_away(kubelet: FakeKubelet) -> None:
    """With what it holds, and with what its container is started with."""
    routes = kubelet.routes()
    admission = routes["POST /pods"](POD)
    assert admission["accepted"]
    assert routes["POST /containers"]({"uid": UID, "name": "main"})["config"]["envs"]
    [shown] = routes["GET /pods"]({})["pods"]
    assert shown["status"]["phase"] == "Running"
    [held] = shown["devices"]["main"][GPU]
    assert held in {"a", "b"}
    routes["DELETE /pods"]({"uid": UID})
    assert routes["GET /pods"]({}) == {"pods": []}


@pytest.mark.usefixtures("joined")
def test_the_node_tells_counts_and_devices(kubelet: FakeKubelet) -> None:
    """Each with its health."""
    answer = kubelet.routes()["GET /node"]({})
    assert answer["capacity"] == answer["allocatable"] == {GPU: 2}
    assert [(each["id"], each["health"]) for each in answer["devices"][GPU]] == [
        ("a", "Healthy"),
        ("b", "Healthy"),
    ]


def test_a_restart_says_how_the_pods_fared(kubelet: FakeKubelet, joined: Scripted) -> None:
    """Its plugin's socket is gone, the pod is admitted again."""
    routes = kubelet.routes()
    routes["POST /pods"](POD)
    routes["POST /containers"]({"uid": UID, "name": "main"})
    answer = routes["POST /restart"]({"mode": "A", "gap_s": 0})
    assert answer["admissions"][UID]["accepted"]
    assert not joined.path.exists()


@pytest.mark.parametrize(
    ("name", "body", "complaint"),
    [
        ("POST /pods", {"uid": UID}, "'containers' is missing"),
        ("POST /pods", {"uid": UID, "containers": ["main"]}, "a container is"),
        ("POST /pods", {"uid": UID, "containers": [{"limits": {}}]}, "a container is"),
        (
            "POST /pods",
            {"uid": UID, "containers": [{"name": "main", "limits": {GPU: "1"}}]},
            "whole number",
        ),
        ("POST /restart", {"mode": "F"}, "it is A, B, C, D, E"),
    ],
)
def test_a_body_that_makes_no_sense_is_named(
    kubelet: FakeKubelet, name: str, body: dict[str, Any], complaint: str
) -> None:
    """With what would be right."""
    with pytest.raises(ValueError, match=complaint):
        kubelet.routes()[name](body)


def test_an_unknown_pod_is_not_found(kubelet: FakeKubelet) -> None:
    """LookupError, which is 404 over HTTP."""
    with pytest.raises(LookupError, match="there is no pod"):
        kubelet.routes()["DELETE /pods"]({"uid": UID})
