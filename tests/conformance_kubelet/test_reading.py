"""What a kubelet says, in the words of the suites."""

from __future__ import annotations

import pytest

from conformance.kubelet.reading import (
    capacity_of,
    container_config,
    last_words,
    metrics_of,
    pod_state,
)
from refimpl.cri.api.cri_pb2 import ContainerConfig, KeyValue
from refimpl.deviceplugin.kubelet import Capacity
from refimpl.node.pods import ContainerState, PodState


def test_a_pod_tells_its_containers_and_their_devices() -> None:
    """Init containers, too; health by resource and device."""
    health = [{"name": "a.b/c", "resources": [{"resourceID": "d", "health": "Unhealthy"}]}]
    waits = {"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "m"}}}
    status = {
        "phase": "Running",
        "initContainerStatuses": [{"name": "first", "state": {"terminated": {"reason": "Done"}}}],
        "containerStatuses": [waits | {"restartCount": 2, "allocatedResourcesStatus": health}],
    }
    first = ContainerState("first", "terminated", "Done")
    app = ContainerState(
        "app", "waiting", "CrashLoopBackOff", "m", 2, {"a.b/c": {"d": "Unhealthy"}}
    )
    assert pod_state({"status": status}) == PodState(
        "Running", "", "", {"first": first, "app": app}
    )
    assert pod_state({}) == PodState()


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


CRASH = """I1130 00:00:00.0 1 a.go:1] "Hello"
panic: runtime error: nil pointer

goroutine 7 [running]:
k8s.io/apimachinery/pkg/util/runtime.handle(0x1)
\t/a.go:1
k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.(*ManagerImpl).allocate(0xc0, {0x1, 0x2})
\t/b.go:2

goroutine 8 [select]:
k8s.io/kubernetes/pkg/other.run(0x1)
"""


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            CRASH,
            "panic: runtime error: nil pointer in "
            "pkg/kubelet/cm/devicemanager.(*ManagerImpl).allocate",
        ),
        (
            "SIGABRT: abort\nPC=1\n\ngoroutine 0 [idle]:\nk8s.io/kubernetes/pkg/x.y(0x1)\n",
            "SIGABRT: abort",
        ),
        (
            'E1 1 a.go:1] "Bad" err="first"\nI1 1 a.go:1] "Fine" err="no"\n'
            'E1 1 run.go:72] "command failed" err="said \\"no\\""\nI1 1 a.go:1] "Bye"\n',
            'said \\"no\\"',
        ),
        ("a\nb\nc\nd\n", "b\nc\nd"),
        ("", ""),
    ],
    ids=["panic", "signal", "error", "lines", "nothing"],
)
def test_the_last_words_are_those_that_tell_why(log: str, words: str) -> None:
    """A crash with its place, else an error, else whatever came last."""
    assert last_words(log) == words
