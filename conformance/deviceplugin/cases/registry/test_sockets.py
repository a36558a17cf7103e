"""What happens to a plugin when its socket, its process or the client goes (REG)."""

from __future__ import annotations

import contextlib
import os

from conformance.deviceplugin.registry import INFO, SOON_S, mended, notification, registered
from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.scripted import ScriptedPlugin

SOURCE = "kubelet: plugin watcher, sockets that go"
WATCHES = Feature("watcher")
LONGEST_PAUSE_S = 125.0


def _joined(node: NodeUnderTest, *, freezable: bool = False) -> ScriptedPlugin:
    """A plugin with device a that was found, and told so."""
    plugin = node.plugin(watched=True)
    if freezable:
        plugin.serve(freezable=True)
    node.join(plugin, "a")
    registered(node, plugin)
    return plugin


def _lost(
    node: NodeUnderTest, plugin: ScriptedPlugin, why: str, deadline_s: float = SOON_S
) -> None:
    resource = plugin.resource
    node.until(
        lambda: not node.podresources.allocatable(resource),
        f"{why}: its devices are lost",
        deadline_s,
    )


def _heir(node: NodeUnderTest, plugin: ScriptedPlugin, socket: str) -> ScriptedPlugin:
    """Another instance of the same plugin, with device b."""
    heir = node.plugin(plugin.resource, socket=socket, watched=True)
    heir.send("b")
    return heir


def _taken_in(node: NodeUnderTest, plugin: ScriptedPlugin) -> None:
    mended(node, plugin)
    node.until(
        lambda: node.podresources.allocatable(plugin.resource) == {"b"}, "the new list is taken in"
    )


@case("REG-018", SOURCE, needs=[WATCHES])
def test_a_plugin_whose_socket_is_removed_is_deregistered(node: NodeUnderTest) -> None:
    """Removing the socket is how a driver leaves; its devices must not be handed out after it."""
    plugin = _joined(node)
    plugin.path.unlink()
    with together() as check:
        with check:
            _lost(node, plugin, "the socket is gone")
        with check:
            node.until(
                lambda: plugin.cancelled == 1, "its stream is ended, though it serves on", SOON_S
            )


@case("REG-019", SOURCE, needs=[WATCHES])
def test_a_socket_that_is_removed_and_made_again_is_deregistered_and_then_registered(
    node: NodeUnderTest,
) -> None:
    """The other way round, the farewell to the old instance would throw out the new one."""
    old = _joined(node)
    new = _heir(node, old, old.path.name)
    new.held.add(INFO)
    old.path.unlink()
    new.serve()
    node.until(
        lambda: old.cancelled == 1, "the old instance is let go before the new one is taken in"
    )
    new.release()
    _taken_in(node, new)


@case("REG-020", SOURCE, needs=[WATCHES])
def test_a_plugin_that_comes_back_over_its_old_socket_is_registered_again(
    node: NodeUnderTest,
) -> None:
    """After a crash nobody removes the socket; a new one takes its place in one step."""
    old = _joined(node, freezable=True)
    old.die()
    _lost(node, old, "the process is gone")
    new = _heir(node, old, f".{old.path.name}")
    new.serve()
    os.replace(new.path, old.path)
    new.path = old.path
    _taken_in(node, new)


@case("REG-025", SOURCE, needs=[WATCHES])
def test_the_end_of_a_process_is_seen_by_its_stream_and_not_by_its_socket(
    node: NodeUnderTest,
) -> None:
    """The devices are lost at once, and nothing else happens until the socket changes."""
    plugin = _joined(node, freezable=True)
    plugin.die()
    with together() as check:
        with check:
            _lost(node, plugin, "the stream is cut")
        node.hasten(LONGEST_PAUSE_S)
        with check:
            node.stays(
                plugin.path.is_socket, "the socket is not the client's to remove", "a socket"
            )


@case("REG-026", SOURCE, needs=[WATCHES, Feature("restart")])
def test_a_client_that_restarts_finds_its_plugins_where_they_were(node: NodeUnderTest) -> None:
    """Unlike in device-plugins nothing is removed, and no plugin has to do anything."""
    plugins = [_joined(node), _joined(node)]
    inodes = [os.stat(plugin.path).st_ino for plugin in plugins]
    node.restart(kill=True)
    with together() as check:
        for plugin in plugins:
            with check:
                again = notification(node, plugin, 2)
                expect(again.registered, "it is registered again", wanted="true", got=again)
                node.arrived(plugin, "a")
        left = [os.stat(p.path).st_ino if p.path.exists() else 0 for p in plugins]
        with check:
            expect(left == inodes, "the sockets are not touched", wanted=inodes, got=left)


@case("REG-032", "kubelet 1.37: a stream that ends", needs=[WATCHES])
def test_a_plugin_that_ends_its_stream_is_not_registered_until_its_socket_is_made_again(
    node: NodeUnderTest,
) -> None:
    """Whoever ends the stream by mistake has no devices from then on, and nobody tells him."""
    plugin = _joined(node)
    before = len(plugin.calls(INFO))
    plugin.end()
    _lost(node, plugin, "the stream is over")
    node.hasten(LONGEST_PAUSE_S)
    node.stays(
        lambda: len(plugin.calls(INFO)) == before and not plugin.streams,
        "nobody calls a plugin whose stream is over",
        "no call",
    )
    plugin.stop()
    with contextlib.suppress(FileNotFoundError):
        plugin.path.unlink()
    plugin.serve()
    again = notification(node, plugin, 2)
    expect(again.registered, "a new socket is registered", wanted="true", got=again)
    node.until(
        lambda: node.podresources.allocatable(plugin.resource) == {"a"}, "its devices are back"
    )
