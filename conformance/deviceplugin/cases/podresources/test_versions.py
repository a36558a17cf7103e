"""One pod by its name, and the first version beside the current one (PR)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from conformance.kubelet.needs import since, until
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.shown import (
    REFUSED,
    RUNS,
    SERVES,
    PodName,
    canonical,
    find,
    get,
    held,
    name_of,
    runs_ours,
    shown,
    some,
)
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.deviceplugin.api import podresources_v1alpha1_pb2 as alpha
from refimpl.node.pods import ContainerSpec, PodSpec
from refimpl.wire.status import Code, Refused

GET = "pod resources v1: Get"
ALPHA = "pod resources v1alpha1: List"
# Of a node with pods of its own, as many are asked for one by one.
_ENOUGH = 20


def populate(node: NodeUnderTest) -> PodSpec | None:
    """A pod with devices in a sidecar and in its main container, where the client runs pods of the
    case; nothing on a node with pods of its own."""
    if not runs_ours(node):
        return None
    plugin = node.joined("a", "b", "c")
    sidecar = ContainerSpec("sidecar", {plugin.resource: 1}, restartable=True)
    return node.pods.running(
        node.pods.run(init=(sidecar,), app=(ContainerSpec("main", {plugin.resource: 2}),))
    )


def list_alpha(node: NodeUnderTest) -> list[alpha.PodResources]:
    """What List of v1alpha1 says."""
    request = alpha.ListPodResourcesRequest()
    return list(
        node.podresources.patiently(
            lambda: node.podresources.v1alpha1().List(request)
        ).pod_resources
    )


@case("PR-014", GET, needs=[*SERVES, since("1.34")])
def test_get_answers_with_the_element_of_list(node: NodeUnderTest) -> None:
    """An agent that watches one pod is spared the list of all: it has to learn the same."""
    populate(node)

    def difference() -> str | None:
        """Empty where they agree, None where a pod changed between the calls."""
        for before in some(node.podresources.listed(), "pod")[:_ENOUGH]:
            try:
                answer = get(node, name_of(before))
            except Refused as refused:
                answer = pr.PodResources(name=str(refused))
            if canonical(answer) == canonical(before):
                continue
            after = find(node.podresources.listed(), before)
            if after is None or canonical(after) != canonical(before):
                return None
            return f"List: {before}, Get: {answer}"
        return ""

    # On a node with pods of its own they come and go.
    listed = node.until(
        lambda: [seen] if (seen := difference()) is not None else [],
        "List shows the same pods twice",
    )
    expect(listed == [""], "Get is one element of List", wanted="the same", got=listed[0])


@case("PR-015", GET, needs=[*SERVES, since("1.34")])
def test_get_refuses_a_pod_that_is_not_there(node: NodeUnderTest) -> None:
    """An empty answer reads as a pod without devices, which is billed for none."""
    populate(node)
    names: dict[str, PodName] = {
        "an unknown pod": ("default", "refimpl-no-such-pod"),
        "no name and no namespace": ("", ""),
    }
    for listed in node.podresources.listed()[:1]:
        names["a pod of another namespace"] = ("refimpl-no-such-namespace", listed.name)
        names["no namespace"] = ("", listed.name)
        names["no name"] = (listed.namespace, "")
    with together() as check:
        for what, name in names.items():
            with check:
                expect_status(partial(get, node, name), REFUSED, f"Get of {what} is an error")


@case("PR-016", "pod resources v1: Get before 1.34", needs=[*RUNS, until("1.33")])
def test_get_is_off_before_1_34(node: NodeUnderTest) -> None:
    """It was behind a gate: an agent that relies on it has to find out by the error."""
    pod = node.pods.running()
    expect_status(
        lambda: get(node, name_of(pod)),
        {*REFUSED, Code.UNIMPLEMENTED},
        "Get is an error while its gate is off",
    )


@case("PR-031", GET, needs=[*RUNS, since("1.34")])
def test_get_refuses_a_finished_pod(node: NodeUnderTest) -> None:
    """Its devices belong to others by now."""
    plugin = node.joined("a")
    pod = node.pods.running(node.pods.run({plugin.resource: 1}, restart="Never"))
    get(node, name_of(pod))
    node.client.exit(pod.uid, "main", 0)
    node.until(lambda: node.pods.state(pod).phase == "Succeeded", "the pod is finished")
    node.until(
        lambda: find(node.podresources.listed(), pod) is None, "List does not show the finished pod"
    )
    expect_status(
        lambda: get(node, name_of(pod)), REFUSED, "Get of a finished pod is an error, as of none"
    )


@case("PR-017", ALPHA, needs=SERVES)
def test_v1alpha1_lists_the_devices_of_app_containers(node: NodeUnderTest) -> None:
    """Old agents read it beside new ones: both have to come to the same bill."""
    ours = populate(node)

    def disagreement() -> str | None:
        """Empty where the versions agree, None where pods changed between the calls."""
        before, old = node.podresources.listed(), list_alpha(node)
        if list(map(canonical, node.podresources.listed())) != list(map(canonical, before)):
            return None
        return "; ".join(_differences(some(before, "pod"), old))

    listed = node.until(
        lambda: [seen] if (seen := disagreement()) is not None else [],
        "List shows the same pods twice",
    )
    with together() as check:
        with check:
            expect(
                listed == [""],
                "app containers have the same ids in both versions",
                wanted="the ids of v1",
                got=listed[0],
            )
        if ours is not None:
            [pod] = [each for each in list_alpha(node) if name_of(each) == name_of(ours)]
            names = [each.name for each in pod.containers]
            with check:
                expect(names == ["main"], "v1alpha1 lists no sidecar", wanted="main", got=names)
            _finished(node)


def _differences(listed: Sequence[pr.PodResources], old: Sequence[alpha.PodResources]) -> list[str]:
    known = {name_of(each): each for each in old}
    missing = [f"{each.name}: not in v1alpha1" for each in listed if name_of(each) not in known]
    new = {(name_of(pod), each.name): held(each) for pod in listed for each in pod.containers}
    return missing + [
        f"{pod.name}/{container.name}: v1alpha1 {held(container)}, v1 {ids}"
        for name in map(name_of, listed)
        if (pod := known.get(name))
        for container in pod.containers
        if held(container) != (ids := new.get((name, container.name)))
    ]


def _finished(node: NodeUnderTest) -> None:
    """The half of PR-017 about a pod that has ended."""
    plugin = node.joined("a")
    pod = node.pods.running(node.pods.run({plugin.resource: 1}, restart="Never"))
    shown(node, pod)
    node.client.exit(pod.uid, "main", 0)
    node.until(lambda: node.pods.state(pod).phase == "Succeeded", "the pod is finished")

    def devices() -> list[dict[str, set[str]]]:
        pods = [each for each in list_alpha(node) if name_of(each) == name_of(pod)]
        expect(pods, "v1alpha1 lists a finished pod, too", wanted=pod.name, got="it is not there")
        return [held(each) for each in pods[0].containers]

    node.until(lambda: devices() == [{}], "a finished pod is listed without devices")


@case("PR-018", "pod resources: versions", needs=SERVES)
def test_both_versions_answer_on_one_socket(node: NodeUnderTest) -> None:
    """Agents of any age find what they speak at the one path that they know."""
    node.podresources.listed()
    list_alpha(node)
