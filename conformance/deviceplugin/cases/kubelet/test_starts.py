"""What a client asks of plugins when containers start, at first and again (DP-KUB)."""

from __future__ import annotations

from conformance.engine.case import case
from conformance.engine.needs import Feature, Need
from conformance.engine.verdict import expect, timeout, together
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import ContainerSpec, PodSpec
from refimpl.wire.status import Code

_PODS: list[Need] = [Feature("pods")]
_PREPARE = "device plugin API v1beta1: PreStartContainer"
_LATE = "kubelet: allocation at container start"
_LATE_NEEDS: list[Need] = [Feature("pods"), Feature("gates"), Feature("restart"), since("1.36")]
_RPC = "PreStartContainer"


@case("DP-KUB-042", _PREPARE, needs=_PODS)
def test_a_plugin_prepares_the_devices_before_every_start(node: NodeUnderTest) -> None:
    """Devices are reset there. A container that starts without it, even for the second time, works
    with what its predecessor left behind."""
    plugin = _preparing(node)
    plugin.held.add(_RPC)
    pod = node.pods.run({plugin.resource: 1})
    node.until(lambda: plugin.calls(_RPC), "PreStartContainer is called")
    with together() as check:
        with check:
            node.stays(
                lambda: node.pods.container(pod).state == "waiting",
                "a container does not start before PreStartContainer is answered",
                wanted="it waits",
            )
        plugin.release()
        node.pods.running(pod)
        _start_again(node, pod)
        got = [tuple(sorted(request.devices_ids)) for request in plugin.calls(_RPC)]
        with check:
            expect(
                got == plugin.allocated() * 2,
                "PreStartContainer comes before each start, with the ids that were allocated",
                wanted=f"twice {plugin.allocated()}",
                got=got,
            )


@case("DP-KUB-043", _PREPARE, needs=_PODS)
def test_a_plugin_has_30_s_to_prepare_and_is_asked_again_after_that(node: NodeUnderTest) -> None:
    """A reset that hangs must neither start the container on devices in an unknown state, nor keep
    it from starting for ever. The plugin looks at the deadline instead of taking 31 s."""
    plugin = _preparing(node)
    plugin.slow[_RPC] = timeout(31)
    pod = node.pods.run({plugin.resource: 1})
    node.until(lambda: plugin.calls(_RPC), "PreStartContainer is called")
    deadline = plugin.deadlines[_RPC][0]
    with together() as check:
        with check:
            expect(
                deadline is not None and 25 < deadline < timeout(31),
                "PreStartContainer has a deadline",
                wanted="about 30 s",
                got="none" if deadline is None else f"{deadline:.3g} s",
            )
        state = node.pods.settled(pod)
        waits = state.containers["main"].state == "waiting"
        with check:
            expect(
                waits and state.phase != "Failed",
                "a container that is not prepared waits, and its pod is not refused",
                wanted="main waiting",
                got=f"phase {state.phase}, {state.containers}",
            )
        plugin.slow.clear()
        node.until(lambda: node.pods.state(pod).phase == "Running", "the start is tried again")


@case("DP-KUB-044", _PREPARE, needs=_PODS)
def test_a_plugin_that_prepares_nothing_is_not_asked_to(node: NodeUnderTest) -> None:
    """It need not serve the call at all: an error would keep every container from starting."""
    plugin = node.joined("a", "b")
    pod = node.pods.running(limits={plugin.resource: 1})
    _start_again(node, pod)
    requests = plugin.calls(_RPC)
    expect(
        not requests,
        "PreStartContainer is for plugins whose options require it",
        wanted="no call",
        got=f"{len(requests)} calls",
    )


@case("DP-KUB-045", "kubelet: allocation at admission", needs=_PODS)
def test_a_container_that_starts_again_keeps_its_devices(node: NodeUnderTest) -> None:
    """Allocate has effects on the host; a container that crashes must not repeat them."""
    plugin = node.joined("a", "b")
    pod = node.pods.running(limits={plugin.resource: 1})
    held = node.podresources.assigned(pod, plugin.resource)
    _start_again(node, pod)
    expect(
        plugin.allocated() == [tuple(sorted(held))],
        "devices are allocated once for all starts of a container",
        wanted=f"one Allocate of {sorted(held)}",
        got=plugin.allocated(),
    )


@case("DP-KUB-070", _LATE, needs=_LATE_NEEDS)
def test_devices_of_a_pod_with_resources_of_its_own_are_allocated_at_the_start(
    node: NodeUnderTest,
) -> None:
    """With PodLevelResourceManagers and pod scope, admission leaves devices out: a plugin hears of
    such a pod when the container that wants them starts."""
    plugin = _late(node)
    main = ContainerSpec(limits={plugin.resource: 1})
    pod = node.pods.run(app=(main,), init=(ContainerSpec("setup"),), pod_level=True)
    node.until(lambda: node.pods.container(pod, "setup").state == "running", "setup runs")
    with together() as check:
        with check:
            node.stays(
                lambda: not plugin.allocated(),
                "nothing is allocated before the container starts that wants it",
                wanted="no Allocate",
            )
        node.client.exit(pod.uid, "setup", 0)
        node.until(lambda: node.pods.container(pod).state == "running", "main runs")
        with check:
            expect(
                plugin.allocated() == [("a",)],
                "the device is allocated when the container starts",
                wanted="one Allocate of a",
                got=plugin.allocated(),
            )


@case("DP-KUB-071", _LATE, needs=_LATE_NEEDS)
def test_an_allocate_that_fails_at_the_start_is_tried_again(node: NodeUnderTest) -> None:
    """The pod has been admitted by then: it waits for the plugin, and does not fail for it."""
    plugin = _late(node)
    plugin.refused["Allocate"] = Code.INTERNAL
    pod = node.pods.run({plugin.resource: 1}, pod_level=True)
    state = node.pods.settled(pod)
    waits = node.pods.container(pod)
    with together() as check:
        with check:
            expect(
                (state.phase, waits.state, waits.reason)
                == ("Pending", "waiting", "CreateContainerConfigError"),
                "the container waits while its devices cannot be allocated",
                wanted="phase Pending, main waiting, reason CreateContainerConfigError",
                got=f"phase {state.phase} {state.reason}, main {waits.state}, {waits.reason}",
            )
        node.until(lambda: len(plugin.allocated()) >= 2, "Allocate is made again")
        plugin.refused.clear()
        failed = len(plugin.allocated())
        node.until(
            lambda: node.pods.state(pod).phase == "Running", "the pod runs as soon as it works"
        )
        with check:
            expect(
                failed < len(plugin.allocated()) <= failed + 2,
                "every try is an Allocate of its own, and the one that works is the last",
                wanted=f"one or two calls after {failed} that failed",
                got=f"{len(plugin.allocated())} calls",
            )


def _preparing(node: NodeUnderTest) -> ScriptedPlugin:
    plugin = node.plugin()
    plugin.options.pre_start_required = True
    return node.join(plugin, "a", "b")


def _late(node: NodeUnderTest) -> ScriptedPlugin:
    """A plugin at a client that allocates devices of pods with resources of their own late."""
    gates = {"PodLevelResourceManagers": True}
    node.configured(KubeletChoices(policy="best-effort", scope="pod", gates=gates))
    return node.joined("a")


def _start_again(node: NodeUnderTest, pod: PodSpec) -> None:
    node.client.exit(pod.uid, "main", 1)
    node.until(lambda: node.pods.container(pod).restarts == 1, "the container starts again")
    node.pods.running(pod)
