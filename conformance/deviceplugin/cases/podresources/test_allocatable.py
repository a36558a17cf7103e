"""What a node offers, given away or not: GetAllocatableResources (PR)."""

from __future__ import annotations

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.shown import RUNS, device, entries, get, name_of, shown
from refimpl.deviceplugin.scripted import ScriptedPlugin

ALLOCATABLE = "pod resources v1: GetAllocatableResources"
REGISTERS = (Feature("pod-resources"), Feature("plugins"))


def with_unplaced(node: NodeUnderTest) -> ScriptedPlugin:
    """A plugin of b and of e, whose topology names no node; when it returns, both have arrived."""
    plugin = node.joined("a")
    plugin.send("b", device("e", placed=True))
    node.until(
        lambda: node.podresources.allocatable(plugin.resource) - {"e"} == {"b"},
        f"the client takes in the second list of {plugin.resource}",
    )
    return plugin


@case("PR-007", ALLOCATABLE, needs=REGISTERS)
def test_a_device_with_an_empty_topology_is_not_offered(node: NodeUnderTest) -> None:
    """As kubelet has it: one entry for each node of a topology, and there is none. Plugins should
    leave an empty topology out."""
    plugin = with_unplaced(node)
    devices = node.podresources.allocatable(plugin.resource)
    expect(devices == {"b"}, "no node, no entry", wanted="b without e", got=sorted(devices))


@case("PR-011", ALLOCATABLE, needs=RUNS)
def test_what_is_given_away_is_offered_still(node: NodeUnderTest) -> None:
    """It is the capacity of the node: who subtracts what List shows would subtract twice."""
    plugin = node.joined("a", "b")
    pod = node.pods.running(limits={plugin.resource: 1})
    with together() as check:
        with check:
            expect(
                node.podresources.assigned(pod, plugin.resource),
                "List shows the device",
                wanted=1,
                got="none",
            )
        devices = node.podresources.allocatable(plugin.resource)
        with check:
            expect(
                devices == {"a", "b"},
                "all healthy devices are allocatable, in use or not",
                wanted="a, b",
                got=sorted(devices),
            )


@case("PR-012", ALLOCATABLE, needs=REGISTERS)
def test_unhealthy_devices_are_not_offered(node: NodeUnderTest) -> None:
    """A scheduler that counts a broken device sends pods to a node that refuses them."""
    plugin = node.joined("a", "b")
    plugin.send("a", device("b", health="Unhealthy"))
    with together() as check:
        with check:
            node.until(
                lambda: node.podresources.allocatable(plugin.resource) == {"a"},
                "a device that turned unhealthy is not allocatable",
            )
        plugin.send("a", "b")
        with check:
            node.until(
                lambda: node.podresources.allocatable(plugin.resource) == {"a", "b"},
                "a device that is healthy again is allocatable",
            )


@case("PR-013", "pod resources v1: after the end of a plugin", needs=RUNS)
def test_a_plugin_that_ends_takes_its_offer_and_not_its_assignments(node: NodeUnderTest) -> None:
    """A pod keeps its device while the plugin is being updated, and agents go on to bill it."""
    plugin = node.joined("a", "b")
    pod = node.pods.running(limits={plugin.resource: 1})
    held = node.podresources.assigned(pod, plugin.resource)
    plugin.stop()
    with together() as check:
        with check:
            node.until(
                lambda: not node.podresources.allocatable(plugin.resource),
                "GetAllocatableResources drops the devices of a plugin that is gone",
            )
        devices = node.podresources.assigned(pod, plugin.resource)
        with check:
            expect(devices == held, "List shows what a pod holds, still", wanted=held, got=devices)


@case("PR-032", "pod resources v1: a topology without nodes", needs=[*RUNS, since("1.34")])
def test_a_device_with_an_empty_topology_is_listed_once_it_is_assigned(node: NodeUnderTest) -> None:
    """Without topology there, and not offered at all: the two views of kubelet differ."""
    plugin = with_unplaced(node)
    pod = node.pods.running(limits={plugin.resource: 2})
    listed = shown(node, pod)
    with together() as check:
        for what, devices in (("List", listed), ("Get", get(node, name_of(pod)))):
            with check:
                [container] = devices.containers
                seen = entries(container.devices, plugin.resource)
                expect(
                    seen == [("b", None), ("e", None)],
                    f"{what} shows an assigned device of a topology without nodes without topology",
                    wanted="b and e, no topology",
                    got=seen,
                )
        offered = node.podresources.allocatable(plugin.resource)
        with check:
            expect(offered == {"b"}, "it is not offered", wanted="b", got=sorted(offered))
