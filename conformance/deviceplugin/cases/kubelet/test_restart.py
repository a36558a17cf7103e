"""What becomes of pods and their devices when the client itself is started again (DP-KUB)."""

from __future__ import annotations

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.node.pods import ContainerSpec, PodSpec

_RESTART = [Feature("pods"), Feature("restart"), Feature("pod-resources")]
_SOURCE = "kubelet: restart"


@case("DP-KUB-054", _SOURCE, needs=[*_RESTART, Feature("capacity")])
def test_devices_that_pods_hold_are_not_given_away_after_a_restart(node: NodeUnderTest) -> None:
    """The pods go on running meanwhile. What the node can offer is not known before the plugin is
    back, so that the scheduler must see none."""
    plugin = node.joined("a", "b")
    pod = node.pods.running(limits={plugin.resource: 1})
    held = node.podresources.assigned(pod, plugin.resource)
    node.restart()
    _expect_kept(node, pod, plugin.resource, held)
    node.until(
        lambda: node.counts(plugin.resource) == (0, 0), "no device counts before the plugin is back"
    )
    again = node.join(node.plugin(plugin.resource), "a", "b")
    node.pods.running(limits={plugin.resource: 1})
    node.pods.refused(node.pods.run({plugin.resource: 1}))
    expect(
        again.allocated() == [tuple({"a", "b"} - held)],
        "only the device that nobody holds is allocated after a restart",
        wanted=f"one Allocate, without {held}",
        got=again.allocated(),
    )


@case("DP-KUB-055", _SOURCE, needs=_RESTART)
def test_a_pod_that_does_not_run_needs_its_devices_healthy_after_a_restart(
    node: NodeUnderTest,
) -> None:
    """Its container would be started on a device that is known to be broken."""
    plugin = node.joined("a", "b")
    pod = node.pods.running(limits={plugin.resource: 1})
    (held,) = node.podresources.assigned(pod, plugin.resource)
    (other,) = {"a", "b"} - {held}
    node.client.end(kill=True)
    node.client.exit(pod.uid, "main", 1)
    node.start()
    again = node.plugin(plugin.resource).serve()
    again.send(pb.Device(ID=held, health="Unhealthy"), other)
    again.register(node.plugins)
    node.until(
        lambda: node.pods.state(pod).phase == "Failed" or node.pods.container(pod).restarts,
        "the pod is refused",
    )
    state = node.pods.state(pod)
    expect(
        state.reason == "UnexpectedAdmissionError" and not again.allocated(),
        "a pod is refused whose devices cannot be had again",
        wanted="reason UnexpectedAdmissionError, no Allocate",
        got=f"reason {state.reason or 'none'} {state.message}, allocated {again.allocated()}",
    )


@case("DP-KUB-056", _SOURCE, needs=_RESTART)
def test_a_pod_that_runs_is_left_alone_however_late_the_plugin_comes(node: NodeUnderTest) -> None:
    """An update of kubelet must not end the work of a whole node, and plugins take their time."""
    plugin = node.joined("a", "b")
    pod = node.pods.running(limits={plugin.resource: 1})
    held = node.podresources.assigned(pod, plugin.resource)
    node.restart()
    _expect_kept(node, pod, plugin.resource, held)
    _expect_undisturbed(node, pod)
    again = node.join(node.plugin(plugin.resource), "a", "b")
    _expect_nothing_new(node, pod, again, held)


@case("DP-KUB-076", _SOURCE, needs=_RESTART)
def test_an_init_container_that_is_done_does_not_end_its_pod_after_a_restart(
    node: NodeUnderTest,
) -> None:
    """It needs its devices no more. Nearly every pod with an init container is in that state."""
    plugin = node.joined("a", "b")
    init, app = (ContainerSpec(name, {plugin.resource: 1}) for name in ("setup", "main"))
    pod = node.pods.run(init=(init,), app=(app,))
    node.until(lambda: node.pods.container(pod, "setup").state == "running", "setup runs")
    node.client.exit(pod.uid, "setup", 0)
    node.pods.running(pod)
    held = node.podresources.assigned(pod, plugin.resource)
    node.restart()
    _expect_kept(node, pod, plugin.resource, held)
    _expect_undisturbed(node, pod)
    again = node.join(node.plugin(plugin.resource), "a", "b")
    _expect_nothing_new(node, pod, again, held)


def _expect_kept(node: NodeUnderTest, pod: PodSpec, resource: str, held: set[str]) -> None:
    """Kubelet has heard of its pods, and the checkpoint told it what they hold."""
    node.until(
        lambda: (
            node.podresources.assigned(pod, resource) == held
            or node.pods.state(pod).phase == "Failed"
        ),
        "the pod is listed with the devices that it had before the restart",
    )
    state = node.pods.state(pod)
    expect(
        state.phase == "Running",
        "a pod that runs is not disturbed by a restart",
        wanted="phase Running",
        got=f"phase {state.phase} {state.reason} {state.message}",
    )


def _expect_undisturbed(node: NodeUnderTest, pod: PodSpec) -> None:
    def undisturbed() -> bool:
        main = node.pods.container(pod)
        return (
            node.pods.state(pod).phase == "Running"
            and main.state == "running"
            and not main.restarts
        )

    node.stays(undisturbed, "a pod that runs is not disturbed by a restart", "it runs on")


def _expect_nothing_new(
    node: NodeUnderTest, pod: PodSpec, again: ScriptedPlugin, held: set[str]
) -> None:
    got, phase = node.podresources.assigned(pod, again.resource), node.pods.state(pod).phase
    expect(
        got == held and phase == "Running" and not again.allocated(),
        "a pod that runs keeps its devices, and none is allocated anew",
        wanted=f"{held}, phase Running, no Allocate",
        got=f"{got}, phase {phase}, allocated {again.allocated()}",
    )
