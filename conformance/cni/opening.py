"""Opens what TARGET names: a plugin, a runtime or documents. What is not opened is not imported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.engine.targets.resolve import ResolvedTarget
from refimpl.wire.client import Unreachable

if TYPE_CHECKING:
    from conformance.cni.target import CniTarget
    from conformance.engine.ledger.leftovers import Leftovers

__all__ = ["open_leftovers", "open_target"]


def open_target(resolved: ResolvedTarget) -> CniTarget:
    """The target of that scheme; raises BadOption or wire.client.Unreachable."""
    if resolved.ours:
        from conformance.cni import fakes

        return fakes.open_fakes(resolved)
    if resolved.scheme == "exec":
        from conformance.cni.plugins import real

        return real.open_plugin(resolved, _existing(Path(resolved.address)))
    if resolved.scheme in ("dir", "file"):
        from conformance.cni.networks import target as networks

        return networks.open_documents(resolved)
    from conformance.cni.runtimes import target as runtimes

    if resolved.scheme == "cnitool":
        return runtimes.open_cnitool(resolved, _existing(Path(resolved.address)))
    return runtimes.open_runtime(resolved)


def open_leftovers(resolved: ResolvedTarget) -> Leftovers:
    """What a sweep works with: runs leave things with runtimes alone."""
    from conformance.cni.runtimes import killed
    from conformance.cni.runtimes.cri import CriRuntime

    runtime = resolved.scheme == "unix"
    return killed.leftovers(
        CriRuntime(resolved.endpoint, resolved.settings, "sweep") if runtime else None
    )


def _existing(path: Path) -> Path:
    """The absolute path of a program; raises Unreachable where nothing there can be run."""
    if not path.exists():
        raise Unreachable(f"{path}: there is no such file; exec:PATH names the plugin's binary")
    if not path.is_file() or not os.access(path, os.X_OK):
        raise Unreachable(f"{path}: not an executable file; a plugin is one")
    return path.absolute()
