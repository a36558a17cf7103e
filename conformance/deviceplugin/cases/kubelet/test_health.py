"""What the status of a pod says of the health of its devices (DP-KUB)."""

from __future__ import annotations

from conformance.engine.case import case
from conformance.engine.needs import Feature, Need
from conformance.engine.verdict import expect, together
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.node.pods import PodSpec

# The gate ResourceHealthStatus is on since then.
_STATUS: list[Need] = [Feature("pods"), since("1.36")]
_SOURCE = "kubelet: allocatedResourcesStatus of a pod"


@case("DP-KUB-060", _SOURCE, needs=_STATUS)
def test_a_device_that_fails_is_told_in_the_status_of_its_pod(node: NodeUnderTest) -> None:
    """Who looks for the reason of a crash finds it there; to end the pod is up to others."""
    plugin = node.joined("a")
    pod = node.pods.running(limits={plugin.resource: 1})
    for health in ("Healthy", "Unhealthy", "Healthy"):
        plugin.send(pb.Device(ID="a", health=health))
        node.until(
            lambda health=health: _health(node, pod, plugin.resource) == {"a": health},  # type: ignore[misc]
            f"the status of the pod tells that its device is {health}",
        )
    _expect_undisturbed(node, pod)


@case("DP-KUB-061", _SOURCE, needs=_STATUS)
def test_a_device_that_leaves_the_list_is_not_told_to_be_broken(node: NodeUnderTest) -> None:
    """Nobody knows how it is. 1.37.2 goes on saying Healthy, Unknown would be better."""
    plugin = node.joined("a", "b")
    pod = node.pods.running(limits={plugin.resource: 1})
    (held,) = node.podresources.assigned(pod, plugin.resource)
    (other,) = {"a", "b"} - {held}
    node.until(lambda: _health(node, pod, plugin.resource), "the status tells of the device")
    plugin.send(other)
    with together() as check:
        node.until(
            lambda: node.podresources.allocatable(plugin.resource) == {other},
            "the list is taken in",
        )
        with check:
            node.stays(
                lambda: _health(node, pod, plugin.resource).get(held) in ("Healthy", "Unknown"),
                "the status of a pod does not call a device that vanished unhealthy",
                wanted="Healthy, or Unknown",
            )
        with check:
            _expect_undisturbed(node, pod)


@case("DP-KUB-069", _SOURCE, needs=_STATUS)
def test_a_device_id_is_of_one_resource(node: NodeUnderTest) -> None:
    """Plugins number their devices: 0 of one resource has nothing to do with 0 of another."""
    plugins = [node.joined("0") for _ in range(2)]
    pods = [node.pods.running(limits={each.resource: 1}) for each in plugins]
    for plugin, pod in zip(plugins, pods, strict=True):
        node.until(
            lambda plugin=plugin, pod=pod: _health(node, pod, plugin.resource) == {"0": "Healthy"},  # type: ignore[misc]
            "the status tells that the device is Healthy",
        )
    (first, second), (other, pod) = plugins, pods
    second.send(pb.Device(ID="0", health="Unhealthy"))
    node.until(
        lambda: _health(node, pod, second.resource) == {"0": "Unhealthy"},
        "the pod that holds the device of that resource is told",
    )
    node.stays(
        lambda: _health(node, other, first.resource) == {"0": "Healthy"},
        "the device of the other resource is as it was",
        wanted="Healthy",
    )


def _health(node: NodeUnderTest, pod: PodSpec, resource: str) -> dict[str, str]:
    return dict(node.pods.container(pod).health.get(resource, {}))


def _expect_undisturbed(node: NodeUnderTest, pod: PodSpec) -> None:
    main = node.pods.container(pod)
    expect(
        main.state == "running" and not main.restarts,
        "a container goes on with the devices that it has",
        wanted="main running, never started again",
        got=f"main {main.state} {main.reason}, {main.restarts} restarts",
    )
