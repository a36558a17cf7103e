"""Which pods and containers pod resources list, and with which devices (PR)."""

from __future__ import annotations

from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.shown import (
    RUNS,
    SERVES,
    DeviceEntry,
    device,
    entries,
    find,
    held,
    offered,
    runs_ours,
    shown,
    some,
)
from refimpl.deviceplugin.api import deviceplugin_pb2 as dp
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.node.pods import ContainerSpec, PodSpec

LIST = "pod resources v1: List"


@case("PR-001", LIST, needs=RUNS)
def test_a_node_without_pods_lists_none(node: NodeUnderTest) -> None:
    """An agent that starts before the first pod must not take an empty node for a broken one. The
    client is started anew where it can be: it may be busy with pods of before for long."""
    if "restart" in node.able:
        node.restart()
    node.until(
        lambda: not node.podresources.listed(), "List answers without any pod where none is left"
    )


@case("PR-002", LIST, needs=SERVES)
def test_a_pod_without_devices_is_listed_with_its_containers(node: NodeUnderTest) -> None:
    """Agents find out from List which containers there are, not only which hold devices."""
    with together() as check:
        if runs_ours(node):
            pod = node.pods.running(node.pods.run(app=(ContainerSpec("one"), ContainerSpec("two"))))
            listed = [each.name for each in shown(node, pod).containers]
            with check:
                expect(
                    listed == ["one", "two"],
                    "all containers of a pod are listed",
                    wanted="one, two",
                    got=listed,
                )
        idle = [
            each
            for each in node.podresources.listed()
            if not any(held(one) for one in each.containers)
        ]
        for each in some(idle, "pod without devices"):
            with check:
                names = [one.name for one in each.containers]
                expect(
                    names and all(names) and len({*names}) == len(names),
                    f"the containers of pod {each.namespace}/{each.name} are listed by their names",
                    wanted="a name for each",
                    got=names or "no container",
                )


@case("PR-003", LIST, needs=RUNS)
def test_the_ids_of_a_container_are_those_it_was_allocated(node: NodeUnderTest) -> None:
    """Usage of a device is billed to the container that List names."""
    plugin = node.joined("a", "b", "c")
    pod = node.pods.running(limits={plugin.resource: 2})
    [container] = shown(node, pod).containers
    [allocated] = plugin.allocated()
    with together() as check:
        with check:
            expect(
                held(container) == {plugin.resource: {*allocated}},
                "the ids in all entries of a container are those that Allocate was called with",
                wanted=sorted(allocated),
                got=held(container),
            )
        ids = [id for each in container.devices for id in each.device_ids]
        with check:
            expect(
                len(ids) == 2,
                "two devices without NUMA nodes are named once each",
                wanted=2,
                got=ids,
            )


def running_with(node: NodeUnderTest, *devices: dp.Device) -> tuple[PodSpec, str]:
    """A pod that holds all these devices of a new resource."""
    plugin = node.joined(*devices)
    return node.pods.running(limits={plugin.resource: len(devices)}), plugin.resource


@case("PR-004", LIST, needs=RUNS)
def test_a_device_is_listed_with_its_numa_node(node: NodeUnderTest) -> None:
    """Schedulers that place by topology count what is free on each NUMA node from it."""
    pod, resource = running_with(node, device("a", 1))
    [container] = shown(node, pod).containers
    listed = entries(container.devices, resource)
    expect(listed == [("a", (1,))], "the topology is the NUMA node", wanted="a on 1", got=listed)


@case("PR-005", LIST, needs=SERVES)
def test_a_device_of_two_numa_nodes_has_an_entry_for_each(node: NodeUnderTest) -> None:
    """One device, however often it is listed: consumers take the union by resource and id."""
    with together() as check:
        if runs_ours(node):
            pod, resource = running_with(node, device("a", 0, 1))
            [container] = shown(node, pod).containers
            with check:
                _split("List", entries(container.devices, resource))
            with check:
                _split("GetAllocatableResources", entries(offered(node).devices, resource))
        placed = [each for each in _assigned(node) if len(each.topology.nodes) > 0]
        for each in some(placed, "pod with a device that has a NUMA node"):
            with check:
                expect(
                    len(each.topology.nodes) == 1,
                    "an entry has one node, and a device as many entries as nodes",
                    wanted="one node",
                    got=each,
                )


def _split(what: str, listed: list[DeviceEntry]) -> None:
    expect(
        listed == [("a", (0,)), ("a", (1,))],
        f"{what} has an entry with one node for each node of a device",
        wanted="a on 0, and a on 1",
        got=listed,
    )


@case("PR-006", LIST, needs=SERVES)
def test_a_device_without_topology_is_listed_without(node: NodeUnderTest) -> None:
    """An empty topology, or node 0, would place a device that may be anywhere."""
    with together() as check:
        if runs_ours(node):
            pod, resource = running_with(node, device("a"))
            [container] = shown(node, pod).containers
            listed = entries(container.devices, resource)
            with check:
                expect(
                    listed == [("a", None)],
                    "topology stays unset",
                    wanted="a, no topology",
                    got=listed,
                )
        anywhere = [each for each in _assigned(node) if not each.topology.nodes]
        for each in some(anywhere, "pod with a device that has no NUMA node"):
            with check:
                expect(
                    not each.HasField("topology"),
                    "the topology of a device without NUMA nodes stays unset",
                    wanted="no topology",
                    got=each,
                )


def _assigned(node: NodeUnderTest) -> list[pr.ContainerDevices]:
    """Every entry of List."""
    return [
        each for pod in node.podresources.listed() for one in pod.containers for each in one.devices
    ]


@case("PR-008", LIST, needs=RUNS)
def test_an_init_container_is_not_listed(node: NodeUnderTest) -> None:
    """What an init container holds is handed on to the pod's containers: it would count twice."""
    plugin = node.joined("a", "b")
    one = {plugin.resource: 1}
    pod = node.pods.run(init=(ContainerSpec("setup", one),), app=(ContainerSpec("main", one),))
    with together() as check:
        for moment in ("while it runs", "after it has ended"):
            if moment == "after it has ended":
                node.until(
                    lambda: (
                        "setup" in (statuses := node.pods.state(pod).containers)
                        and statuses["setup"].state == "running"
                    ),
                    "the init container runs",
                )
                node.client.exit(pod.uid, "setup", 0)
                node.pods.running(pod)
            names = [each.name for each in shown(node, pod).containers]
            with check:
                expect(
                    names == ["main"],
                    f"an init container is not listed {moment}",
                    wanted="main",
                    got=names,
                )


@case("PR-009", LIST, needs=RUNS)
def test_a_restartable_init_container_is_listed_with_its_devices(node: NodeUnderTest) -> None:
    """It runs as long as its pod and keeps what it holds."""
    plugin = node.joined("a", "b")
    one = {plugin.resource: 1}
    sidecar = ContainerSpec("sidecar", one, restartable=True)
    pod = node.pods.running(node.pods.run(init=(sidecar,), app=(ContainerSpec("main", one),)))
    devices = {each.name: held(each) for each in shown(node, pod).containers}
    with together() as check:
        with check:
            expect(
                devices.keys() == {"sidecar", "main"},
                "both containers are listed",
                wanted="sidecar, main",
                got=devices,
            )
        ids = [ids for each in devices.values() for ids in each.get(plugin.resource, ())]
        with check:
            expect(
                sorted(ids) == ["a", "b"],
                "each of them holds a device of its own",
                wanted="a and b, one each",
                got=devices,
            )


@case("PR-010", "pod resources v1: List, before and since 1.34", needs=RUNS)
def test_a_finished_pod_is_listed_before_1_34_only(node: NodeUnderTest) -> None:
    """Its devices have new holders: agents that see both account for them twice."""
    plugin = node.joined("a")
    pod = node.pods.running(node.pods.run({plugin.resource: 1}, restart="Never"))
    shown(node, pod)
    node.client.exit(pod.uid, "main", 0)
    node.until(lambda: node.pods.state(pod).phase == "Succeeded", "the pod is finished")
    if node.since("1.34"):
        node.until(
            lambda: find(node.podresources.listed(), pod) is None,
            "List shows active pods: this one is finished",
        )
    else:
        node.stays(
            lambda: find(node.podresources.listed(), pod),
            "List shows finished pods as well",
            "it is listed",
        )
