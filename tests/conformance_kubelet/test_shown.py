"""What pod resources show, in forms that cases compare."""

from __future__ import annotations

import pytest

from conformance.kubelet.shown import canonical, device, entries, find, held, some
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.deviceplugin.api import podresources_v1alpha1_pb2 as alpha


def entry(id: str, *nodes: int, placed: bool = False) -> pr.ContainerDevices:
    entry = pr.ContainerDevices(resource_name="a.b/c", device_ids=[id])
    if nodes or placed:
        entry.topology.SetInParent()
    for node in nodes:
        entry.topology.nodes.add(ID=node)
    return entry


def test_a_topology_that_is_unset_is_another_than_an_empty_one() -> None:
    """In what plugins send as in what is read."""
    devices = [entry("b", 1), entry("a"), entry("c", placed=True), entry("b", 0)]
    assert entries(devices, "a.b/c") == [("a", None), ("b", (0,)), ("b", (1,)), ("c", ())]
    assert entries(devices, "other") == []
    assert not device("a").HasField("topology")
    assert device("a", placed=True).HasField("topology")
    assert [node.ID for node in device("a", 2, 3).topology.nodes] == [2, 3]


def test_what_a_container_holds_is_the_union_of_its_entries() -> None:
    """In both versions."""
    new = pr.ContainerResources(devices=[entry("a", 0), entry("a", 1), entry("b")])
    old = alpha.ContainerResources()
    old.devices.add(resource_name="a.b/c", device_ids=["b", "a"])
    assert held(new) == held(old) == {"a.b/c": {"a", "b"}}


def test_pods_are_compared_without_the_order_of_devices() -> None:
    """But not without what they hold."""
    one = pr.PodResources(name="p", namespace="n")
    one.containers.add(name="c", devices=[entry("a"), entry("b")], cpu_ids=[1, 2])
    other = pr.PodResources(name="p", namespace="n")
    other.containers.add(name="c", devices=[entry("b"), entry("a")], cpu_ids=[2, 1])
    assert canonical(one) == canonical(other)
    other.containers[0].devices.add(resource_name="a.b/c", device_ids=["c"])
    assert canonical(one) != canonical(other)
    assert find([one], other) is one
    assert find([one], pr.PodResources(name="p", namespace="m")) is None


def test_a_case_without_anything_to_judge_is_skipped() -> None:
    """It says what there is none of."""
    assert some([1], "pod") == [1]
    with pytest.raises(pytest.skip.Exception, match="there is no pod on this node"):
        some([], "pod")
