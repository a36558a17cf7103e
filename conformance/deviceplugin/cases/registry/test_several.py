"""Several plugins side by side, in both ways to register (REG)."""

from __future__ import annotations

from conformance.deviceplugin.registry import SOON_S, registered
from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

SOURCE = "kubelet: plugins of one name"
WATCHES = Feature("watcher")
PODS = Feature("pods")
MULTI = since("1.37")


def _two(node: NodeUnderTest, first: ScriptedPlugin) -> ScriptedPlugin:
    """A second plugin of its resource, registered after it by being found."""
    second = node.plugin(first.resource, watched=True)
    second.send("a", "b")
    second.serve()
    registered(node, second)
    node.until(lambda: second.streams == 1, "the second plugin is watched as well")
    return second


def _allocated(node: NodeUnderTest, by: ScriptedPlugin, rule: str) -> None:
    node.pods.running(limits={by.resource: 1})
    expect(len(by.allocated()) == 1, rule, wanted="one Allocate there", got=by.order)


@case("REG-021", SOURCE, needs=[WATCHES, PODS])
def test_of_two_plugins_of_one_name_the_newest_is_used(node: NodeUnderTest) -> None:
    """An update starts the new plugin before the old one ends: it has to take over, not fail."""
    first = node.join(node.plugin(watched=True), "a", "b")
    registered(node, first)
    second = _two(node, first)
    if node.since(MULTI.number):
        node.stays(lambda: first.streams == 1, "the first is not let go", "its stream stays open")
    _allocated(node, second, "the newest plugin of a resource is asked to allocate")


@case("REG-022", SOURCE, needs=[WATCHES, PODS, MULTI])
def test_when_one_of_two_goes_the_other_one_is_used(node: NodeUnderTest) -> None:
    """The new version of a plugin is withdrawn: the old one is still there and must be used."""
    first = node.join(node.plugin(watched=True), "a", "b")
    second = _two(node, first)
    second.path.unlink()
    node.until(lambda: second.cancelled == 1, "the second is let go when its socket goes", SOON_S)
    with together() as check:
        held = node.podresources.allocatable(first.resource)
        with check:
            expect(held == {"a", "b"}, "no device is lost by it", wanted={"a", "b"}, got=held)
        with check:
            _allocated(node, first, "the one that is left is asked to allocate")


@case("REG-023", SOURCE, needs=[WATCHES])
def test_plugins_of_different_types_do_not_get_into_each_others_way(node: NodeUnderTest) -> None:
    """All drivers of a node share this folder, and a driver of two types uses one name for both."""
    from refimpl.csi.fake import FakeDriver  # which no other case pays for

    device = node.join(node.plugin(watched=True), "a")
    name = device.resource.partition("/")[0]
    claims = node.plugin(name, watched=True)
    claims.registration.type, claims.registration.versions = "DRAPlugin", ("v1.DRAPlugin",)
    claims.registration.endpoint = str(claims.path)
    claims.serve()
    socket = node.client.folder / "plugins" / f"{name}.sock"
    named = {"driver_name": name}
    with FakeDriver(socket, register=node.registry, storage="memory", settings=named) as storage:
        notified = storage.registration
        registered(node, claims)
        node.until(lambda: notified.registered, "the storage driver is registered", 20.0)
    claims.stop()
    last = node.join(node.plugin(watched=True), "z")
    expect(
        device.streams == 1
        and node.podresources.allocatable(device.resource) == {"a"}
        and last.streams == 1,
        "drivers of other types may come and go",
        wanted="device plugins that stay",
        got=device.order,
    )


@case("REG-027", SOURCE, needs=[WATCHES, PODS])
def test_a_plugin_that_registers_and_is_found_counts_twice_or_the_last_time(
    node: NodeUnderTest,
) -> None:
    """SR-IOV's plugin can do both; with one socket for each neither way spoils the other."""
    pushed = node.joined()
    watched = _two(node, pushed)
    _allocated(node, watched, "the way that came last is asked to allocate")
    if node.since(MULTI.number):
        watched.path.unlink()
        node.until(lambda: watched.cancelled == 1, "one way can go", SOON_S)
        held = node.podresources.allocatable(pushed.resource)
        expect(held == {"a", "b"}, "the other way stays", wanted={"a", "b"}, got=held)


@case("REG-028", "kubelet 1.37: the endpoint in Register")
def test_a_socket_in_a_folder_below_can_be_registered(node: NodeUnderTest) -> None:
    """The endpoint is joined to the directory as it is, so that a path works where a name should
    be."""
    plugin = node.plugin(socket="below/plugin.sock")
    node.own(plugin.path.parent)
    plugin.send("a")
    plugin.serve()
    plugin.register(node.plugins, endpoint="below/plugin.sock")
    node.until(
        lambda: node.podresources.allocatable(plugin.resource) == {"a"}, "its list is taken in"
    )


@case("REG-035", "kubelet 1.37: its registration socket", needs=[Feature("listener")])
def test_a_client_that_cannot_listen_any_more_says_so_or_listens_anew(node: NodeUnderTest) -> None:
    """1.37.2 fails its health check until it is restarted; later kubelets try again each second. A
    node that looks well and takes in no plugin would be worse than both."""
    node.spoil()
    node.client.deafen()
    plugin = node.plugin().serve()
    node.until(
        lambda: not node.client.healthy() or _registers(node, plugin),
        "it is unhealthy, or plugins can register again",
    )
    if node.client.healthy():
        return
    expect(not _registers(node, plugin), "nobody registers then", wanted="an error", got="OK")
    plugin.stop()
    node.restart(kill=True)
    node.until(node.client.healthy, "a restart mends it")
    node.join(plugin, "a")


def _registers(node: NodeUnderTest, plugin: ScriptedPlugin) -> bool:
    try:
        plugin.register(node.plugins, connect_s=0.1)
    except (Refused, Unreachable):
        return False
    return True
