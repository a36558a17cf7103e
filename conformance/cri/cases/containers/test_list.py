"""ListContainers and its filters. A case looks at its own containers only."""

from __future__ import annotations

from typing import Any

from conformance.cri.needs import IMAGE
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb

_PREFIX = 12


def _listed(cri: CriTarget, **wanted: Any) -> list[str]:
    request = pb.ListContainersRequest(filter=pb.ContainerFilter(**wanted))
    return [each.id for each in cri.runtime.ListContainers(request).containers]


def _state(state: pb.ContainerState.ValueType) -> pb.ContainerStateValue:
    return pb.ContainerStateValue(state=state)


@case("CRI-CT-051", "CRI v1 ContainerFilter: fields are joined by and", needs=[IMAGE])
def test_all_of_a_filter_has_to_hold(cri: CriTarget) -> None:
    """By id, state, sandbox and labels; CREATED is 0, and a state all the same."""
    pod = cri.pods.run()
    created = pod.create(labels={"refimpl.example/a": "1"})
    running = pod.run(labels={"refimpl.example/a": "2"})
    both = sorted([created.id, running.id])
    label = {"refimpl.example/a": "1"}
    for rule, wanted, ids in (
        ("the sandbox selects both", {}, both),
        ("CREATED selects one", {"state": _state(pb.CONTAINER_CREATED)}, [created.id]),
        ("RUNNING selects the other", {"state": _state(pb.CONTAINER_RUNNING)}, [running.id]),
        ("a label selects one", {"label_selector": label}, [created.id]),
        ("an id selects one", {"id": running.id}, [running.id]),
        (
            "id and label of another one select none",
            {"id": running.id, "label_selector": label},
            [],
        ),
    ):
        got = sorted(_listed(cri, pod_sandbox_id=pod.id, **wanted))
        expect(got == ids, rule, wanted=ids, got=got)


@case("CRI-CT-052", "containerd, CRI-O: the beginning of an id is enough", needs=[IMAGE])
def test_the_beginning_of_a_sandbox_id_selects_its_containers(cri: CriTarget) -> None:
    """crictl ps -p takes what crictl pods has shown."""
    pod = cri.pods.run()
    container = pod.create()
    ids = _listed(cri, pod_sandbox_id=pod.id[:_PREFIX])
    expect(ids == [container.id], "it selects those in it", wanted=[container.id], got=ids)


@case("CRI-CT-053", "CRI v1 ContainerFilter: fields are joined by and", needs=[IMAGE])
def test_a_container_of_another_sandbox_is_not_selected(cri: CriTarget) -> None:
    """Its id alone would be enough."""
    container = cri.pods.shared().create()
    ids = _listed(cri, id=container.id, pod_sandbox_id=cri.pods.run().id)
    expect(ids == [], "its id with another sandbox selects none", wanted=[], got=ids)
