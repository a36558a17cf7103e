"""Takes things away behind the driver's back, by its hooks, and gives them back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from conformance.csi.target import CsiTarget


@contextlib.contextmanager
def missing_dependency(csi: CsiTarget) -> Iterator[None]:
    """While inside, something the driver depends on is not there (BREAKABLE_DEPENDENCY)."""
    with _broken(csi, "dependency"):
        yield


def break_volume(
    csi: CsiTarget, volume_id: str, status: str = "DEGRADED", reason: str = "Broken"
) -> None:
    """Makes a volume sick (BREAKABLE): `status` as in VolumeHealthErrorType, `reason` a word."""
    csi.hooks.run("break_volume", volume_id=volume_id, status=status, reason=reason)


def repair_volume(csi: CsiTarget, volume_id: str, reason: str = "") -> None:
    """Takes faults of a volume away: the one of that reason, or all."""
    csi.hooks.run("repair_volume", volume_id=volume_id, reason=reason)


@contextlib.contextmanager
def sick(
    csi: CsiTarget, volume_id: str, status: str = "DEGRADED", reason: str = "Broken"
) -> Iterator[None]:
    """While inside, a volume is broken (BREAKABLE)."""
    break_volume(csi, volume_id, status, reason)
    try:
        yield
    finally:
        repair_volume(csi, volume_id, reason)


@contextlib.contextmanager
def sick_on_first_node(
    csi: CsiTarget, volume_id: str, status: str = "INACCESSIBLE", reason: str = "CutOff"
) -> Iterator[None]:
    """While inside, a volume is broken as the first node sees it (BREAKABLE_ON_NODE)."""
    values = {"volume_id": volume_id, "status": status, "reason": reason}
    with _broken(csi, "volume_on_node", **values, node=csi.capabilities.node_id):
        yield


@contextlib.contextmanager
def sick_storage(csi: CsiTarget, status: str, reason: str = "Broken") -> Iterator[None]:
    """While inside, the storage behind all volumes is broken (BREAKABLE_STORAGE); `status` as in
    StorageHealthErrorType."""
    with _broken(csi, "storage", status=status, reason=reason):
        yield


@contextlib.contextmanager
def held_volume(csi: CsiTarget, volume_id: str) -> Iterator[None]:
    """While inside, calls that work on a volume hang (HOLDABLE)."""
    csi.hooks.run("hold_volume", volume_id=volume_id)
    try:
        yield
    finally:
        csi.hooks.run("release_volume", volume_id=volume_id)


def settle_s(csi: CsiTarget) -> float:
    """How long a driver may take to notice; our fake notices at once."""
    return 0.5 if csi.fake else 30.0


@contextlib.contextmanager
def _broken(csi: CsiTarget, name: str, **values: str) -> Iterator[None]:
    csi.hooks.run(f"break_{name}", **values)
    try:
        yield
    finally:
        csi.hooks.run(f"repair_{name}", **values)
