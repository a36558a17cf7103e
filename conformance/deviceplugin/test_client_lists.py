"""What a client makes of the lists of devices that a plugin sends (DP-KUB)."""

from __future__ import annotations

from conformance.engine.case import MUST, case
from conformance.engine.verdict import expect
from conformance.kubelet.needs import Able
from conformance.kubelet.node import Node
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb


@case("DP-KUB-011", MUST, "kubelet: capacity of a resource", needs=[Able("capacity")])
def test_unhealthy_devices_count_for_capacity_and_not_for_allocatable(node: Node) -> None:
    """A scheduler that counts a broken device places a pod that can never start."""
    plugin = node.joined("a", "b", "c", pb.Device(ID="d", health="Unhealthy"))
    node.until(lambda: node.counts(plugin.resource) is not None, "the node shows the resource")
    node.until(
        lambda: node.counts(plugin.resource) == (4, 3),
        "three healthy devices and an unhealthy one are capacity 4, allocatable 3",
    )


@case("DP-KUB-045", MUST, "kubelet: allocation", needs=[Able("pods")])
def test_a_container_that_starts_again_keeps_its_devices(node: Node) -> None:
    """Allocate has effects on the host; a container that crashes must not repeat them."""
    plugin = node.joined("a", "b")
    pod = node.running(limits={plugin.resource: 1})
    held = node.assigned(pod, plugin.resource)
    node.client.exit(pod.uid, "main", 1)
    node.until(
        lambda: node.state(pod).containers["main"].restarts == 1, "the container starts again"
    )
    expect(
        plugin.allocated() == [tuple(sorted(held))],
        "devices are allocated once for all starts of a container",
        wanted=f"one Allocate of {sorted(held)}",
        got=plugin.allocated(),
    )
