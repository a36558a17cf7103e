"""Pods on our kubelet: started in their order, over its ends and starts, and left alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from conformance.engine.verdict import eventually
from refimpl.deviceplugin.profiles import settings_of
from refimpl.node.kubelet import NodeKubelet
from refimpl.node.pods import ContainerSpec, PodSpec

POD = PodSpec("p", "u", init=(ContainerSpec("setup"),))


@pytest.fixture
def kubelet() -> Iterator[NodeKubelet]:
    """Our kubelet, running."""
    with tempfile.TemporaryDirectory(prefix="kub-") as folder:
        running = NodeKubelet(Path(folder), lambda choices: settings_of("1.37", choices.gates))
        running.start()
        yield running
        running.close()


def seen(kubelet: NodeKubelet) -> tuple[str, ...]:
    """The states of the pod's containers, in their order."""
    state = kubelet.state(POD.uid)
    return tuple(each.state for each in state.containers.values()) if state else ()


def runs(kubelet: NodeKubelet, *states: str) -> None:
    """Waits until the containers are in these states."""
    eventually(lambda: seen(kubelet) == states, 5, f"setup, main: {states}")


def test_containers_start_in_their_order(kubelet: NodeKubelet) -> None:
    """Those of the pod when those before it are done."""
    kubelet.run(POD)
    runs(kubelet, "running", "waiting")
    kubelet.exit(POD.uid, "setup", 0)
    runs(kubelet, "terminated", "running")


def test_a_pod_that_comes_while_kubelet_is_down_is_taken_in_at_its_start(
    kubelet: NodeKubelet,
) -> None:
    """As the API server keeps it for kubelet."""
    kubelet.end()
    kubelet.run(POD)
    assert kubelet.state(POD.uid) is None
    kubelet.start()
    runs(kubelet, "running", "waiting")


def test_another_spec_of_a_pod_goes_on_with_what_runs(kubelet: NodeKubelet) -> None:
    """Its containers are those of before; they are not started again."""
    kubelet.run(POD)
    runs(kubelet, "running", "waiting")
    kubelet.end()
    kubelet.run(attrs.evolve(POD, restart="Never"))
    kubelet.start()
    kubelet.exit(POD.uid, "setup", 0)
    runs(kubelet, "terminated", "running")
    assert len(kubelet.configs(POD.uid, "setup")) == 1


def test_a_pod_that_is_refused_at_the_start_is_left_alone(kubelet: NodeKubelet) -> None:
    """Nobody tries to start its containers."""
    kubelet.run(POD)
    runs(kubelet, "running", "waiting")
    kubelet.end()
    kubelet.devices.workload[POD.uid].end("Failed", "Evicted")
    kubelet.start()
    runs(kubelet, "terminated", "terminated")
    assert not kubelet.configs(POD.uid, "main")
