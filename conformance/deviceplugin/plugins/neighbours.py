"""Sockets: whose they are, and those of other plugins beside the one under test."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from conformance.deviceplugin.plugin import Plugin
from conformance.deviceplugin.plugins.offers import registry_sockets
from refimpl.wire.endpoint import Endpoint

__all__ = ["Made", "made", "neighbours", "own_sockets"]

Made = tuple[int, int] | None
"""What tells a socket from another one of the same name."""


def own_sockets(plugin: Plugin) -> list[Path]:
    """All sockets in device-plugins and plugins_registry but kubelet's, as long as the life has no
    neighbours."""
    return [*(plugin.folder / name for name in plugin.sockets()), *registry_sockets(plugin)]


def made(endpoint: Endpoint) -> Made:
    """Which socket is there now; None where there is none."""
    try:
        found = os.stat(endpoint.path)
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns


@contextlib.contextmanager
def neighbours(plugin: Plugin) -> Iterator[list[Path]]:
    """Sockets of others while inside: in device-plugins one that is served and one that somebody
    has left behind, in plugins_registry one of these."""
    served, left = plugin.folder / "other-vendor.sock", plugin.folder / "other-vendor-left.sock"
    found = plugin.layout.registry / "other-vendor-left.sock"
    with contextlib.ExitStack() as stack:
        stack.enter_context(_listening(served))
        for path in (left, found):
            with _listening(path):
                pass
        try:
            yield [served, left, found]
        finally:
            for path in (served, left, found):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        yield
