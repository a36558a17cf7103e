"""Several registrations of one resource, on other sockets and on the same one (DP-KUB).

Kubelet has two books of who serves a resource, and in 1.37.2 a Register that it refuses leaves them
at odds. Cases that could meet this accept it, or a client without the quirk, and nothing between.
"""

from __future__ import annotations

from conformance.deviceplugin.attempts import refused
from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import Broken, expect, together
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.wire.status import Code, Refused

MULTI = since("1.37")
"""From here on, each socket of a resource counts; before, each registration replaced the last."""
OTHER, SAME = "kubelet: several sockets of a resource", "kubelet: one socket twice"
ASK, WATCH = "GetDevicePluginOptions", "ListAndWatch"


@case("DP-KUB-026", OTHER, needs=[Feature("capacity")])
def test_when_a_replaced_plugin_ends_its_successor_is_not_lost(node: NodeUnderTest) -> None:
    """An update starts the new plugin before the old one ends. Kubelets from 1.25 to 1.36 take the
    end of the old stream for the new plugin's (kubernetes 121994), and are held to that."""
    old = node.joined("a", "b")
    node.join(node.plugin(old.resource), "a", "b", "c")
    old.stop()
    if not node.since(MULTI.number):
        node.counted(old.resource, (3, 0), "with one slot a resource, any stream's end empties it")
        return
    node.stays(
        lambda: (
            len(node.podresources.allocatable(old.resource)) == 3
            and node.counts(old.resource) != (3, 0)
        ),
        "the end of the old plugin does nothing to the new one",
        wanted="its three devices",
    )


@case("DP-KUB-027", SAME, needs=[MULTI])
def test_a_socket_that_is_in_use_is_refused_or_known_already(node: NodeUnderTest) -> None:
    """A plugin may register twice, by two triggers or after an answer that was lost. Kubelet dials
    it, asks, and refuses; to be content without a dial is as good."""
    plugin, again = _doubled(node)
    before = len(plugin.calls(ASK))
    refuses = again and again.code in (Code.UNKNOWN, Code.ALREADY_EXISTS) and before == 2
    expect(
        refuses or (again is None and before == 1),
        "a socket that is registered is refused after the dial, or accepted without one",
        wanted="UNKNOWN and a second call for the options, or OK and none",
        got=f"{again or 'OK'}, options asked for {before} times",
    )


@case("DP-KUB-028", SAME)
def test_a_plugin_that_restarts_before_its_end_was_seen_is_not_shut_out_unseen(
    node: NodeUnderTest,
) -> None:
    """The socket's name is the same and the old stream ends a moment after Register. Where that
    was refused or evicted, the plugin can register again as soon as its devices are gone; only
    where the old end goes unseen (1.37.2) it may be refused."""
    old = node.joined("a", "b")
    old.path.unlink()
    new = node.plugin(old.resource, socket=old.path.name).serve()
    new.send("c")
    node.spoil()
    first = refused(node, new)
    old.end()
    kept = _kept(node, old.resource)
    again = refused(node, new)
    expect(
        again is None or (kept and first is not None),
        "a plugin whose devices are gone can register",
        wanted="success, or devices of the old plugin that stay",
        got=f"first {first or 'OK'}, then {again}; devices kept: {kept}",
    )
    if again is None:
        node.until(
            lambda: node.podresources.allocatable(old.resource) == {"c"},
            "the new plugin's list holds",
        )


@case("DP-KUB-029", OTHER, needs=[MULTI, Feature("pods")])
def test_when_one_of_two_plugins_ends_the_other_one_is_called(node: NodeUnderTest) -> None:
    """A new version that is taken back leaves the old one in charge, without a gap."""
    first = node.joined("a", "b")
    second = node.join(node.plugin(first.resource), "a", "b", "c")
    second.stop()
    node.stays(
        lambda: len(node.podresources.allocatable(first.resource)) == 3,
        "while one of its plugins lives, a resource keeps its devices",
        wanted="three devices",
    )
    node.pods.running(limits={first.resource: 1})
    expect(
        len(first.allocated()) == 1,
        "the plugin that is left allocates",
        wanted="one Allocate",
        got=first.order,
    )


@case("DP-KUB-030", OTHER)
def test_of_two_plugins_the_list_that_came_last_holds(node: NodeUnderTest) -> None:
    """The lists of a resource are not merged: two plugins that share one have to agree."""
    first = node.joined("a", "b")
    second = node.join(node.plugin(first.resource), "c")
    for plugin, ids in ((first, "d"), (second, "ef"), (first, "a")):
        plugin.send(*ids)
        node.until(
            lambda: node.podresources.allocatable(first.resource) == {*ids},  # noqa: B023
            "each list replaces the resource, whoever sends it",
        )


@case("DP-KUB-066", SAME, needs=[MULTI, Feature("restart")])
def test_after_a_doubled_register_the_resource_recovers_or_waits_for_a_restart(
    node: NodeUnderTest,
) -> None:
    """In 1.37.2 the end of that plugin is not seen, and its socket refused, until kubelet restarts:
    its devices are given to pods that cannot start. Another socket helps, but its end is not seen
    either. A better client sees the end and takes the plugin in again."""
    plugin, _ = _doubled(node)
    plugin.end()
    unseen = _kept(node, plugin.resource)
    again = refused(node, plugin)
    with together() as check:
        with check:
            expect(
                unseen == (again is not None),
                "the end was seen and the socket is free, or neither",
                wanted="success" if not unseen else "a refusal",
                got=again or "success",
            )
        other = node.join(node.plugin(plugin.resource), "c")
        other.stop()
        with check:
            expect(
                _kept(node, plugin.resource),
                "what is known of the plugin that is left outlives the end of another one",
                wanted="a device",
                got="none",
            )
        _renewed(node, plugin)


def _renewed(node: NodeUnderTest, plugin: ScriptedPlugin) -> None:
    """A restart sets it right."""
    plugin.stop()
    node.restart()
    heir = node.join(node.plugin(plugin.resource, socket=plugin.path.name), "d")
    heir.stop()
    node.until(
        lambda: not node.podresources.allocatable(plugin.resource),
        "after a restart, the socket is as any other",
    )


@case("DP-KUB-067", SAME, needs=[MULTI, Feature("pods")])
def test_after_a_doubled_register_an_heir_of_the_socket_is_called(node: NodeUnderTest) -> None:
    """Where 1.37.2 refuses the heir, it still calls it: the connection that it never closed comes
    to life again. Its lists it never hears. Elsewhere the heir can register."""
    plugin, _ = _doubled(node)
    plugin.stop()
    _kept(node, plugin.resource)  # until what is to be seen was seen
    heir = node.plugin(plugin.resource, socket=plugin.path.name).serve()
    heir.send("a", "b")
    again = refused(node, heir)
    node.until(
        lambda: node.podresources.allocatable(plugin.resource),
        "the devices of the socket can be had",
    )
    node.pods.running(limits={plugin.resource: 1})
    calls = len(heir.allocated()), WATCH in heir.order
    expect(
        calls == (1, again is None),
        "who serves at the socket is called, and is listened to if it was registered",
        wanted=f"one Allocate, {WATCH}: {again is None}",
        got=heir.order,
    )


def _doubled(node: NodeUnderTest) -> tuple[ScriptedPlugin, Refused | None]:
    """A plugin that has registered twice, and what the second time met; 1.37.2 is damaged then."""
    plugin = node.joined("a", "b")
    node.spoil()
    return plugin, refused(node, plugin)


def _kept(node: NodeUnderTest, resource: str) -> bool:
    """Whether the resource keeps devices for a while."""
    try:
        node.stays(
            lambda: node.podresources.allocatable(resource), "the devices stay", wanted="devices"
        )
    except Broken:
        return False
    return True
