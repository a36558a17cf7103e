"""What a kubelet says, in the words of the suites."""

from __future__ import annotations

import pytest

from conformance.kubelet.reading import (
    capacity_of,
    container_config,
    last_error,
    metrics_of,
    pod_state,
)
from refimpl.cri.api.cri_pb2 import ContainerConfig, KeyValue
from refimpl.deviceplugin.kubelet import Capacity
from refimpl.node.pods import ContainerStatus, PodStatus


def test_a_pod_tells_its_containers_and_their_devices() -> None:
    """Init containers, too; health by resource and device."""
    health = [{"name": "a.b/c", "resources": [{"resourceID": "d", "health": "Unhealthy"}]}]
    waits = {"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "m"}}}
    status = {
        "phase": "Running",
        "initContainerStatuses": [{"name": "first", "state": {"terminated": {"reason": "Done"}}}],
        "containerStatuses": [waits | {"restartCount": 2, "allocatedResourcesStatus": health}],
    }
    first = ContainerStatus("first", "terminated", "Done")
    app = ContainerStatus(
        "app", "waiting", "CrashLoopBackOff", "m", 2, {"a.b/c": {"d": "Unhealthy"}}
    )
    assert pod_state({"status": status}) == PodStatus(
        "Running", "", "", {"first": first, "app": app}
    )
    assert pod_state({}) == PodStatus()


def test_variables_of_a_container_are_text() -> None:
    """In the protocol their values are bytes."""
    sent = ContainerConfig(envs=[KeyValue(key="K", value=b"v")], annotations={"a": "b"})
    sent.CDI_devices.add(name="example.com/card=0")
    assert container_config(sent) == {
        "envs": [{"key": "K", "value": "v"}],
        "annotations": {"a": "b"},
        "CDI_devices": [{"name": "example.com/card=0"}],
    }


def test_only_extended_resources_of_a_node_are_counted() -> None:
    """What it has of its own has no domain."""
    amounts = {"cpu": "4", "memory": "3Ki", "a.b/c": "2", "a.b/many": "5k"}
    node = {"status": {"capacity": amounts, "allocatable": {"a.b/c": "0"}}}
    assert capacity_of(node) == Capacity({"a.b/c": 2, "a.b/many": 5000}, {"a.b/c": 0})
    assert capacity_of({}) == Capacity()


def test_metrics_are_names_with_labels() -> None:
    """Comments and what cannot be read are left out."""
    text = '# HELP x y\nx{a="b c",d="}"} 3\ny 1e+06\n\n'
    assert metrics_of(text) == {'x{a="b c",d="}"}': 3.0, "y": 1e6}


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            'E1 1 a.go:1] "Bad" err="first"\nI1 1 a.go:1] "Fine" err="no"\n'
            'E1 1 run.go:72] "command failed" err="said \\"no\\""\nI1 1 a.go:1] "Bye"\n',
            'said \\"no\\"',
        ),
        ('F1 1 a.go:1] "Bad" err="one" cause="x" err="two"\n', "one"),
        ("a\nb\n", ""),
    ],
    ids=["error", "twice", "nothing"],
)
def test_the_last_error_is_told(log: str, words: str) -> None:
    """Not what was logged as information, though it names an error."""
    assert last_error(log) == words
