"""What cases on plugins_registry share: what a plugin is told, how often it is asked, a socket
that nobody listens at."""

from __future__ import annotations

import socket
import time
from pathlib import Path

from conformance.engine.verdict import expect
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.registration.plugin import Notified

__all__ = [
    "INFO",
    "NOTIFY",
    "OPTIONS",
    "SOON_S",
    "Deaf",
    "attempted",
    "mended",
    "notification",
    "refused",
    "registered",
    "unhurried",
]

INFO, NOTIFY, OPTIONS = "GetInfo", "NotifyRegistrationStatus", "GetDevicePluginOptions"

SOON_S = 5.0
"""Within which what a watcher does at once is done; it looks every second."""

_RETRY_S = 5.0
_LEAST_PAUSE_S = 0.25


def notification(node: NodeUnderTest, plugin: ScriptedPlugin, count: int = 1) -> Notified:
    """Waits for the `count`th thing that a plugin is told of its registration."""
    notified = plugin.registration
    node.until(
        lambda: len(notified.notified) >= count,
        f"the plugin of {plugin.resource} is told whether it is registered",
    )
    return notified.notified[count - 1]


def registered(node: NodeUnderTest, plugin: ScriptedPlugin) -> None:
    """Waits until a plugin is told, and it has to be a success."""
    status = notification(node, plugin)
    expect(
        status.registered,
        f"the plugin of {plugin.resource} is registered",
        wanted="plugin_registered true",
        got=status,
    )


def refused(node: NodeUnderTest, plugin: ScriptedPlugin, why: str) -> None:
    """Waits until a plugin is told, and it has to be that it is not registered, and a reason."""
    status = notification(node, plugin)
    expect(
        not status.registered and status.error,
        f"{why}: the plugin is told that it is not registered, and why",
        wanted="plugin_registered false, error with a reason",
        got=status,
    )


def attempted(node: NodeUnderTest, plugin: ScriptedPlugin, count: int, rpc: str = INFO) -> None:
    """Waits for the `count`th attempt to register a plugin, hastening time."""

    def made() -> bool:
        done = len(plugin.calls(rpc)) >= count
        if not done:
            node.hasten(_RETRY_S)
        return done

    node.until(made, f"{plugin.resource} is tried again: attempt {count}")


def mended(node: NodeUnderTest, plugin: ScriptedPlugin) -> None:
    """Waits until an attempt succeeds, hastening time."""

    def done() -> bool:
        if not plugin.registration.registered:
            node.hasten(_RETRY_S)
        return plugin.registration.registered

    node.until(done, f"{plugin.resource} is registered once there is nothing against it")


def unhurried(node: NodeUnderTest, plugin: ScriptedPlugin, rpc: str = INFO) -> None:
    """Watches for a while that there are pauses between attempts that fail."""
    before, began = len(plugin.calls(rpc)), time.monotonic()

    def rare() -> bool:
        attempts = len(plugin.calls(rpc)) - before
        return attempts <= 1 + (time.monotonic() - began) / _LEAST_PAUSE_S

    node.stays(rare, "attempts that fail are not made over and over", "half a second between two")


class Deaf:
    """A socket that nobody listens at, as a process leaves it that was killed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.settimeout(0)

    def listen(self) -> None:
        """From now on somebody does; the file does not change."""
        self._socket.listen(8)

    def called(self) -> bool:
        """Whether a connection has come since the last time this was asked."""
        try:
            peer, _ = self._socket.accept()
        except BlockingIOError:
            return False
        peer.close()
        return True

    def close(self) -> None:
        """Removes it."""
        self._socket.close()
        self.path.unlink(missing_ok=True)
