"""Pod resources while pods come, while kubelet restarts, and with very many devices (PR)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, timeout, together
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.shown import RUNS, canonical, find, held, shown
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr

RESTARTS = (*RUNS, Feature("restart"))
LARGEST = 4 * 1024 * 1024


@case("PR-026", "pod resources v1: List after a restart", needs=RESTARTS)
def test_a_restarted_client_lists_the_same_before_plugins_are_back(node: NodeUnderTest) -> None:
    """Agents bill what runs: pods outlive a restart of kubelet, and so do their devices."""
    plugin = node.joined("a", "b", "c")
    pod = node.pods.running(limits={plugin.resource: 2})
    before = canonical(shown(node, pod))
    node.restart()
    after = canonical(shown(node, pod))
    with together() as check:
        with check:
            expect(after == before, "List shows what a pod holds, still", wanted=before, got=after)
        offered = node.podresources.allocatable(plugin.resource)
        with check:
            expect(
                not offered, "the plugin has not come back yet", wanted="no devices", got=offered
            )


@case("PR-027", "pod resources v1: List during allocation", needs=RUNS)
def test_a_list_taken_during_allocation_is_whole(node: NodeUnderTest) -> None:
    """A container that is shown with half of its devices, or a device with two holders, is billed
    wrongly for as long as the agent waits until it looks again."""
    pods, each = 4, 3
    plugin = node.joined(*(f"dev-{number}" for number in range(pods * each)))
    lists: list[list[pr.PodResources]] = []
    done = Event()
    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(_watch, node, done, lists)

        def another(after: int) -> bool:
            return watching.done() or len(lists) > after + 1

        try:
            running = [node.pods.run({plugin.resource: each}) for _ in range(pods)]
            for pod in running:
                node.pods.running(pod)
            node.until(partial(another, len(lists)), "List answers after allocation")
            for pod in running[: pods // 2]:
                node.pods.delete(pod)
            node.until(partial(another, len(lists)), "List answers after pods have gone")
        finally:
            done.set()
        watching.result()
    for listed in lists:
        _whole(listed, plugin.resource, each)


def _watch(node: NodeUnderTest, done: Event, lists: list[list[pr.PodResources]]) -> None:
    while not done.is_set():
        lists.append(node.podresources.listed())
        done.wait(0.01)  # 100 calls a second are let through, and the case makes some of its own


def _whole(listed: Sequence[pr.PodResources], resource: str, each: int) -> None:
    holders: dict[str, str] = {}
    for pod in listed:
        for container in pod.containers:
            ids = held(container).get(resource, set())
            expect(
                len(ids) in (0, each),
                "a container is listed with all of its devices or, before, with none",
                wanted=f"{each} or none",
                got=f"{pod.name}: {sorted(ids)}",
            )
            for id in ids:
                other = holders.setdefault(id, pod.name)
                expect(
                    other == pod.name,
                    "a device is listed for one pod at a time",
                    wanted=f"{id} for {other} alone",
                    got=f"{id} for {pod.name} as well",
                )


@case("PR-028", "pod resources v1: size and time of List", needs=RUNS)
def test_a_list_of_4000_devices_is_small_and_soon_there(node: NodeUnderTest) -> None:
    """Clients take 4 MiB unless told otherwise, and agents ask every few seconds. As many devices
    as 500 pods with 8 each, in 40 pods: kubelet takes no more than 110 pods by default."""
    pods, each = 40, 100
    plugin = node.joined(*(f"device-{number:04}" for number in range(pods * each)))
    running = [node.pods.run({plugin.resource: each}) for _ in range(pods)]
    for pod in running:
        node.pods.running(pod)
    request = pr.ListPodResourcesRequest()
    began = time.monotonic()
    reply = node.podresources.patiently(lambda: node.podresources.v1().List(request))
    seconds = time.monotonic() - began
    shown = sum(len(ids) for pod in reply.pod_resources for ids in _ids(pod, plugin.resource))
    with together() as check:
        with check:
            expect(
                shown == pods * each,
                "every device is listed once",
                wanted=pods * each,
                got=f"{shown} ids",
            )
        size = reply.ByteSize()
        with check:
            expect(size < LARGEST, "List stays below 4 MiB", wanted=f"below {LARGEST}", got=size)
        with check:
            expect(
                seconds < timeout(1.0), "List takes less than a second", wanted="1 s", got=seconds
            )


def _ids(pod: pr.PodResources, resource: str) -> list[list[str]]:
    return [
        list(devices.device_ids)
        for container in pod.containers
        for devices in container.devices
        if devices.resource_name == resource
    ]


@case(
    "PR-034",
    "kubelet: a checkpoint that is lost",
    needs=[*RESTARTS, Feature("checkpoint")],
)
def test_a_pod_whose_record_is_lost_is_listed_without_devices(node: NodeUnderTest) -> None:
    """As kubelet has it: the pod goes on with devices that nobody knows of. Its device may be given
    to another pod."""
    plugin = node.joined("a", "b")
    pod = node.pods.running(limits={plugin.resource: 1})
    shown(node, pod)
    node.client.end(kill=True)
    (node.plugins / "kubelet_internal_checkpoint").write_text("")
    node.start()
    [container] = shown(node, pod).containers
    with together() as check:
        with check:
            expect(
                (container.name, held(container)) == ("main", {}),
                "the containers of the pod are listed, with empty devices",
                wanted="main, no devices",
                got=container,
            )
        state = node.pods.state(pod)
        with check:
            expect(state.phase == "Running", "the pod goes on", wanted="Running", got=state)
        with check:
            expect(
                find(node.podresources.listed(), pod),
                "it stays listed",
                wanted=pod.name,
                got="it is gone",
            )
