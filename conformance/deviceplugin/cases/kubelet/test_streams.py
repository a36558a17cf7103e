"""What a client does when the stream of a plugin ends, and for how long it remembers (DP-KUB)."""

from __future__ import annotations

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.wire.status import Code, Refused

COUNTED, CLOCK = Feature("capacity"), Feature("clock")
ENDS, GRACE = "kubelet: end of a plugin's stream", "kubelet: grace period of a resource"
GRACE_S = 300.0
"""How long a resource outlives its plugin."""


@case("DP-KUB-021", ENDS, needs=[COUNTED])
def test_a_stream_that_fails_takes_the_devices_and_leaves_the_capacity(node: NodeUnderTest) -> None:
    """No pod may be placed for devices that nobody vouches for; the capacity tells that they are
    missed. The plugin has to come back by itself."""
    plugin = node.joined("a", "b")
    plugin.end(Refused(Code.INTERNAL, "the driver is gone"))
    _lost(node, plugin)


@case("DP-KUB-022", ENDS, needs=[COUNTED])
def test_a_stream_that_ends_well_takes_the_devices_all_the_same(node: NodeUnderTest) -> None:
    """A ListAndWatch that returns is the most common bug of plugins: who goes on as if it were
    open has devices that never change again."""
    plugin = node.joined("a", "b")
    plugin.end()
    _lost(node, plugin)


def _lost(node: NodeUnderTest, plugin: ScriptedPlugin) -> None:
    node.counted(plugin.resource, (2, 0), "when the stream is over no device can be had")
    node.stays(
        lambda: len(plugin.calls("ListAndWatch")) == 1 and node.counts(plugin.resource) == (2, 0),
        "a stream that ended is not opened again, and the capacity stays",
        wanted="one ListAndWatch, capacity 2, allocatable 0",
    )


@case("DP-KUB-023", GRACE, needs=[COUNTED, CLOCK])
def test_after_five_minutes_a_resource_without_a_plugin_is_gone(node: NodeUnderTest) -> None:
    """A vendor's software that was taken off a node should not be missed for ever."""
    plugin = node.joined("a", "b")
    plugin.stop()
    node.counted(plugin.resource, (2, 0), "a plugin that stopped has lost its devices")
    node.client.advance(GRACE_S - 10)
    with together() as check:
        with check:
            expect(
                node.counts(plugin.resource) == (2, 0),
                "for five minutes the capacity stays",
                wanted="capacity 2, allocatable 0",
                got=node.counts(plugin.resource),
            )
        node.client.advance(11)
        with check:
            node.until(
                lambda: node.counts(plugin.resource) in (None, (0, 0)),
                "after five minutes the resource is gone, or 0/0",
            )


@case("DP-KUB-024", GRACE, needs=[COUNTED, CLOCK])
def test_a_plugin_that_returns_within_five_minutes_was_never_gone(node: NodeUnderTest) -> None:
    """An update of the plugin must not end what runs. It returns after 4 min 55 s rather than 59,
    so that a slow machine does not make it late."""
    plugin = node.joined("a", "b")
    plugin.stop()
    node.counted(plugin.resource, (2, 0), "a plugin that stopped has lost its devices")
    node.client.advance(GRACE_S - 5)
    node.join(node.plugin(plugin.resource), "a", "b")
    node.counted(plugin.resource, (2, 2), "the plugin that returned has its devices again")
    node.client.advance(2 * GRACE_S)
    node.stays(
        lambda: node.counts(plugin.resource) == (2, 2),
        "nothing is left of the time in which the plugin was gone",
        wanted="capacity 2, allocatable 2",
    )


@case("DP-KUB-025", ENDS, needs=[Feature("pods")])
def test_a_frozen_plugin_keeps_its_devices_and_holds_up_its_pods(node: NodeUnderTest) -> None:
    """Its connection is open, so nobody notices (kubernetes 117435). Whether Allocate is waited for
    or given up in the end, no pod may run without its answer."""
    plugin = node.plugin().serve(freezable=True)
    node.join(plugin, "a", "b")
    plugin.freeze()
    pod = node.pods.run({plugin.resource: 1})
    with together() as check:
        with check:
            node.stays(
                lambda: (
                    len(node.podresources.allocatable(plugin.resource)) == 2
                    and node.pods.state(pod).phase in ("", "Pending", "Failed")
                ),
                "a plugin that is silent is taken to be there, and waited for",
                wanted="both devices, and no pod that runs",
            )
        plugin.thaw()
        state = node.pods.settled(pod)
        with check:
            expect(
                state.phase == "Failed" or plugin.allocated(),
                "the pod runs with what Allocate answered, or is refused",
                wanted="phase Running after an Allocate, or Failed",
                got=f"phase {state.phase}, Allocate: {plugin.allocated()}",
            )
