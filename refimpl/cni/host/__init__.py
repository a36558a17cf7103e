"""The machine that plugins work on: one protocol, a real kernel and a simulated one behind it."""

from __future__ import annotations

from refimpl.cni.host.views import (
    HOST,
    Host,
    HostError,
    Link,
    NamespaceView,
    RouteView,
    Snapshot,
    tree,
)

__all__ = ["HOST", "Host", "HostError", "Link", "NamespaceView", "RouteView", "Snapshot", "tree"]
