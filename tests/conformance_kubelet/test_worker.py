"""Pods on our kubelet as a client under test."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from conformance.engine.verdict import eventually
from conformance.kubelet.ours import OurKubelet
from conformance.kubelet.pods import ContainerSpec, PodSpec

POD = PodSpec("p", "u", init=(ContainerSpec("setup"),))


@pytest.fixture
def client() -> Iterator[OurKubelet]:
    """Our kubelet, running."""
    made = OurKubelet()
    made.start()
    yield made
    made.close()


def seen(client: OurKubelet) -> tuple[str, ...]:
    """The states of the pod's containers, in their order."""
    state = client.state(POD.uid)
    return tuple(each.state for each in state.containers.values()) if state else ()


def runs(client: OurKubelet, *states: str) -> None:
    """Waits until the containers are in these states."""
    eventually(lambda: seen(client) == states, 5, f"setup, main: {states}")


def test_containers_start_in_their_order(client: OurKubelet) -> None:
    """Those of the pod when those before it are done."""
    client.run(POD)
    runs(client, "running", "waiting")
    client.exit(POD.uid, "setup", 0)
    runs(client, "terminated", "running")


def test_a_pod_that_comes_while_kubelet_is_down_is_taken_in_at_its_start(
    client: OurKubelet,
) -> None:
    """As the API server keeps it for kubelet."""
    client.end()
    client.run(POD)
    assert client.state(POD.uid) is None
    client.start()
    runs(client, "running", "waiting")


def test_another_spec_of_a_pod_goes_on_with_what_runs(client: OurKubelet) -> None:
    """Its containers are those of before; they are not started again."""
    client.run(POD)
    runs(client, "running", "waiting")
    client.end()
    client.run(attrs.evolve(POD, restart="Never"))
    client.start()
    client.exit(POD.uid, "setup", 0)
    runs(client, "terminated", "running")
    assert len(client.configs(POD.uid, "setup")) == 1


def test_a_pod_that_is_refused_at_the_start_is_left_alone(client: OurKubelet) -> None:
    """Nobody tries to start its containers."""
    client.run(POD)
    runs(client, "running", "waiting")
    client.end()
    client.kubelet.workload[POD.uid].end("Failed", "Evicted")
    client.start()
    runs(client, "terminated", "terminated")
    assert not client.configs(POD.uid, "main")
