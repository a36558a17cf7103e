"""What pods get of the devices that plugins list, and when a pod is refused (DP-KUB)."""

from __future__ import annotations

import attrs

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.node.pods import ContainerSpec, PodStatus
from refimpl.wire.status import Code

_PODS = [Feature("pods")]
_ALLOCATION = "kubelet: allocation at admission"


@case("DP-KUB-032", "device plugin API v1beta1: AllocateRequest", needs=_PODS)
def test_each_allocate_asks_for_one_container(node: NodeUnderTest) -> None:
    """Many plugins answer for the first container of a request only; a second one in it would start
    without its devices."""
    plugin = node.joined("a", "b", "c")
    one = ContainerSpec("one", {plugin.resource: 1})
    two = ContainerSpec("two", {plugin.resource: 2})
    node.pods.running(node.pods.run(app=(one, two)))
    shapes = [
        [len(each.devices_ids) for each in request.container_requests]
        for request in plugin.calls("Allocate")
    ]
    expect(
        sorted(shapes) == [[1], [2]],
        "one Allocate for each container, with that container alone in it",
        wanted="a call for 1 device and one for 2",
        got=f"devices by container request, by call: {shapes}",
    )


@case("DP-KUB-033", _ALLOCATION, needs=_PODS)
def test_two_containers_of_a_pod_get_different_devices(node: NodeUnderTest) -> None:
    """A device is exclusive, within a pod as well: two processes on one GPU break each other."""
    plugin = node.joined("a", "b", "c")
    app = tuple(ContainerSpec(name, {plugin.resource: 1}) for name in ("one", "two"))
    node.pods.running(node.pods.run(app=app))
    got = plugin.allocated()
    expect(
        len(got) == 2 and all(len(ids) == 1 for ids in got) and got[0] != got[1],
        "each container is allocated a device of its own",
        wanted="two calls with one id each, not the same",
        got=got,
    )


@case("DP-KUB-034", _ALLOCATION, needs=_PODS)
def test_a_container_with_two_resources_asks_both_plugins(node: NodeUnderTest) -> None:
    """A plugin that is not asked prepares nothing: the container sees half of its hardware."""
    first, second = node.joined("a", "b"), node.joined("c", "d")
    node.pods.running(limits={first.resource: 1, second.resource: 2})
    got = first.allocated(), second.allocated()
    expect(
        len(got[0]) == 1 and set(got[0][0]) < {"a", "b"} and got[1] == [("c", "d")],
        "one Allocate for each resource, at its plugin, with its devices",
        wanted="one of a and b from the first plugin, c and d from the second",
        got=got,
    )


@case("DP-KUB-035", _ALLOCATION, needs=_PODS)
def test_a_failed_allocate_refuses_the_pod_and_frees_the_device(node: NodeUnderTest) -> None:
    """Devices that stay marked after a failure are lost to the node until kubelet restarts."""
    plugin = node.joined("a")
    plugin.refused["Allocate"] = Code.INTERNAL
    node.pods.refused(node.pods.run({plugin.resource: 1}))
    plugin.refused.clear()
    node.pods.running(limits={plugin.resource: 1})


@case("DP-KUB-036", _ALLOCATION, needs=_PODS)
def test_an_answer_without_a_container_refuses_the_pod_and_frees_the_device(
    node: NodeUnderTest,
) -> None:
    """As after any failure of Allocate. Devices of 1.37.2 stay marked until some other pod's are
    collected, so that one odd answer takes the last device from the node."""
    plugin = node.joined("a")
    # What pods of before still held would be collected, and what leaked with it.
    node.until(lambda: not node.podresources.listed(), "pods that were deleted are not listed")
    plugin.answers = lambda _: pb.AllocateResponse()
    node.pods.refused(node.pods.run({plugin.resource: 1}))
    plugin.answers = plugin.answer
    node.pods.running(limits={plugin.resource: 1})


@case("DP-KUB-037", _ALLOCATION, needs=[*_PODS, Feature("configs")])
def test_of_two_answers_for_one_container_the_first_counts(node: NodeUnderTest) -> None:
    """The second is of nobody: its devices and variables belong in no container."""
    plugin = node.joined("a")
    answers = [pb.ContainerAllocateResponse(envs={"ANSWER": word}) for word in ("first", "second")]
    plugin.answers = lambda _: pb.AllocateResponse(container_responses=answers)
    pod = node.pods.running(limits={plugin.resource: 1})
    envs = node.client.configs(pod.uid, "main")[0].get("envs", [])
    got = [each.get("value") for each in envs if each["key"] == "ANSWER"]
    expect(
        got == ["first"],
        "the first container response is that of the container that was asked for",
        wanted="the variable of the first answer, once",
        got=got or "no such variable",
    )


@case("DP-KUB-038", _ALLOCATION, needs=_PODS)
def test_a_pod_that_fails_half_way_gives_back_what_it_got(node: NodeUnderTest) -> None:
    """Otherwise a plugin that is broken eats up the devices of the others, pod by pod."""
    good, bad = node.joined("a"), node.joined("b")
    bad.refused["Allocate"] = Code.INTERNAL
    app = (ContainerSpec("one", {good.resource: 1}), ContainerSpec("two", {bad.resource: 1}))
    node.pods.refused(node.pods.run(app=app))
    with together() as check:
        with check:
            expect(
                good.allocated() == [("a",)],
                "containers are given their devices in the order of the pod",
                wanted="an Allocate of a for the first container",
                got=good.allocated(),
            )
        node.pods.running(limits={good.resource: 1})


@case("DP-KUB-046", "kubelet: devices of pods that are gone", needs=_PODS)
def test_devices_of_a_deleted_pod_can_be_had_again(node: NodeUnderTest) -> None:
    """There is no call that frees a device: the client has to notice by itself."""
    plugin = node.joined("a")
    node.pods.delete(node.pods.running(limits={plugin.resource: 1}))
    node.pods.running(limits={plugin.resource: 1})
    expect(
        plugin.allocated() == [("a",), ("a",)],
        "the device is allocated to one pod after the other",
        wanted="two calls for a",
        got=plugin.allocated(),
    )


@case("DP-KUB-062", "kubelet: admission with unhealthy devices", needs=_PODS)
def test_a_limit_of_none_is_refused_while_no_device_is_healthy(node: NodeUnderTest) -> None:
    """What 1.37.2 does: the health of a resource is judged before the number that is asked for."""
    plugin = node.joined("a")
    plugin.send(pb.Device(ID="a", health="Unhealthy"))
    node.until(
        lambda: not node.podresources.allocatable(plugin.resource),
        "no device is allocatable any more",
    )
    node.pods.refused(node.pods.run({plugin.resource: 0}))


@case("DP-KUB-063", "kubelet: admission of unknown resources", needs=_PODS)
def test_a_resource_that_nobody_registered_is_no_obstacle(node: NodeUnderTest) -> None:
    """What 1.37.2 does: nothing of the resource is on the node, so that nothing of it is judged."""
    node.pods.running(limits={node.resource(): 1})


@case("DP-KUB-065", "kubelet: allocation to a pod it knows", needs=[*_PODS, Feature("restart")])
def test_a_pod_cannot_ask_for_another_number_later(node: NodeUnderTest) -> None:
    """What was allocated stays for the life of a pod; another count of it cannot be met."""
    plugin = node.joined("a", "b", "c")
    pod = node.pods.running(limits={plugin.resource: 1})
    node.client.end(kill=True)
    node.client.run(attrs.evolve(pod, app=(ContainerSpec(limits={plugin.resource: 2}),)))
    node.start()
    node.until(
        lambda: node.pods.state(pod).phase == "Failed", "the pod is refused after the restart"
    )
    _expect_unexpected(node.pods.state(pod))


@case("DP-KUB-068", _ALLOCATION, needs=_PODS)
def test_a_device_that_vanishes_during_its_allocate_harms_nobody(node: NodeUnderTest) -> None:
    """A plugin cannot know what is asked of it next when it drops a device. Kubelet 1.37.2 ends
    over it, and with it the admission of every pod on the node."""
    plugin = node.joined("a", "b")
    plugin.held.add("Allocate")
    pod = node.pods.run({plugin.resource: 1})
    node.until(plugin.allocated, "the plugin is asked to allocate")
    (picked,) = plugin.allocated()[0]
    (other,) = {"a", "b"} - {picked}
    plugin.send(other)
    node.until(
        lambda: node.podresources.allocatable(plugin.resource) == {other}, "the list is taken in"
    )
    plugin.release()
    node.until(
        lambda: node.pods.state(pod).phase in ("Running", "Failed"),
        "the client lives on when the device is not in the list any more, and settles the pod",
    )
    state = node.pods.settled(pod)
    held = node.podresources.assigned(pod, plugin.resource)
    with together() as check:
        with check:
            expect(
                held == ({picked} if state.phase == "Running" else set()),
                "the pod has the device and runs, or has nothing and is refused",
                wanted=f"{picked}, or nothing",
                got=f"{', '.join(held) or 'nothing'} in phase {state.phase} {state.reason}",
            )
        with check:
            _expect_serving(node, plugin, other)


@case("DP-KUB-073", "kubelet: resources backed by claims", needs=[Feature("claims"), since("1.36")])
def test_a_resource_that_a_claim_backs_is_not_asked_of_a_plugin(node: NodeUnderTest) -> None:
    """The devices come from a DRA driver; a plugin of the same resource would give others on top,
    and they would be lost to everybody else."""
    plugin = node.joined("a")
    plugin.options.get_preferred_allocation_available = True
    resource = plugin.resource
    app = (ContainerSpec(limits={resource: 1}, claimed=frozenset({resource})),)
    node.pods.running(node.pods.run(app=app))
    requests = [*plugin.calls("GetPreferredAllocation"), *plugin.calls("Allocate")]
    expect(
        not requests,
        "no device of a plugin is given to a container whose claim has one",
        wanted="no GetPreferredAllocation, no Allocate",
        got=f"{len(requests)} calls",
    )


def _expect_unexpected(state: PodStatus) -> None:
    expect(
        state.reason == "UnexpectedAdmissionError",
        "a pod whose devices cannot be had is refused for that",
        wanted="reason UnexpectedAdmissionError",
        got=f"{state.reason or 'no reason'} {state.message}",
    )


def _expect_serving(node: NodeUnderTest, plugin: ScriptedPlugin, device: str) -> None:
    """The device is free: another pod gets it."""
    pod = node.pods.running(limits={plugin.resource: 1})
    expect(
        node.podresources.assigned(pod, plugin.resource) == {device},
        "a pod gets the device that is left",
        wanted=device,
        got=", ".join(node.podresources.assigned(pod, plugin.resource)) or "nothing",
    )
