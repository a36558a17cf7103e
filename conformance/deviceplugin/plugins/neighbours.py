"""Sockets: whose they are, and those of other plugins beside the one under test."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from refimpl.wire.endpoint import Endpoint

__all__ = ["SocketId", "neighbours", "own_sockets", "socket_id"]

_LEFT = "other-vendor-left.sock"

SocketId = tuple[int, int] | None
"""What tells a socket from another one of the same name."""


def own_sockets(plugin: DevicePluginUnderTest) -> list[Path]:
    """All sockets in device-plugins and plugins_registry but kubelet's, as long as the session has
    no neighbours."""
    return [*(plugin.folder / name for name in plugin.sockets()), *plugin.registry_sockets()]


def socket_id(endpoint: Endpoint) -> SocketId:
    """Which socket is there now; None where there is none."""
    try:
        status = os.stat(endpoint.path)
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


@contextlib.contextmanager
def neighbours(plugin: DevicePluginUnderTest) -> Iterator[list[Path]]:
    """Sockets of others while inside: in device-plugins one that is served and one that somebody
    has left behind, in plugins_registry (if it is there) one of these."""
    served = plugin.folder / "other-vendor.sock"
    left = [plugin.folder / _LEFT, plugin.session.layout.registry / _LEFT]
    left = [path for path in left if path.parent.is_dir()]
    with _listening(served):
        for path in left:
            with _listening(path):
                pass
        try:
            yield [served, *left]
        finally:
            for path in (served, *left):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        yield
