"""Takes things away behind the driver's back: by the user's hooks, or by our fake's own methods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from conformance.csi.target import CsiTarget
from conformance.engine.hooks import run_hook
from conformance.engine.placeholders import fill


@contextlib.contextmanager
def missing_dependency(csi: CsiTarget) -> Iterator[None]:
    """While inside, something the driver depends on is not there (BREAKABLE_DEPENDENCY)."""
    hooks, fake = csi.settings.hooks, csi.fake
    if fake:
        fake.break_dependency()
    else:
        run_hook("hooks.break_dependency", hooks.break_dependency)
    try:
        yield
    finally:
        if fake:
            fake.repair_dependency()
        else:
            run_hook("hooks.repair_dependency", hooks.repair_dependency)


def break_volume(
    csi: CsiTarget, volume_id: str, status: str = "DEGRADED", reason: str = "Broken"
) -> None:
    """Makes a volume sick (BREAKABLE): `status` as in VolumeHealthErrorType, `reason` a word."""
    if csi.fake:
        csi.fake.break_volume(volume_id, status, reason)
        return
    values = {"volume_id": volume_id, "status": status, "reason": reason}
    run_hook("hooks.break_volume", [fill(word, values) for word in csi.settings.hooks.break_volume])


def repair_volume(csi: CsiTarget, volume_id: str, reason: str = "") -> None:
    """Takes faults of a volume away: the one of that reason, or all."""
    if csi.fake:
        csi.fake.repair_volume(volume_id, reason)
        return
    values, hook = {"volume_id": volume_id, "reason": reason}, csi.settings.hooks.repair_volume
    run_hook("hooks.repair_volume", [fill(word, values) for word in hook])


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
    hooks, fake, node = csi.settings.hooks, csi.fake, csi.offers.node_id
    values = {"volume_id": volume_id, "status": status, "reason": reason, "node": node}
    if fake:
        fake.break_volume(volume_id, status, reason, node=0)
    else:
        _run("break_volume_on_node", hooks.break_volume_on_node, values)
    try:
        yield
    finally:
        if fake:
            fake.repair_volume(volume_id, reason, node=0)
        else:
            _run("repair_volume_on_node", hooks.repair_volume_on_node, values)


@contextlib.contextmanager
def sick_storage(csi: CsiTarget, status: str, reason: str = "Broken") -> Iterator[None]:
    """While inside, the storage behind all volumes is broken (BREAKABLE_STORAGE); `status` as in
    StorageHealthErrorType."""
    hooks, fake = csi.settings.hooks, csi.fake
    values = {"status": status, "reason": reason}
    if fake:
        fake.break_storage(status, reason)
    else:
        _run("break_storage", hooks.break_storage, values)
    try:
        yield
    finally:
        if fake:
            fake.repair_storage(reason)
        else:
            _run("repair_storage", hooks.repair_storage, values)


@contextlib.contextmanager
def held_volume(csi: CsiTarget, volume_id: str) -> Iterator[None]:
    """While inside, calls that work on a volume hang (HOLDABLE)."""
    hooks, fake, values = csi.settings.hooks, csi.fake, {"volume_id": volume_id}
    if fake:
        fake.hold_volume(volume_id)
    else:
        _run("hold_volume", hooks.hold_volume, values)
    try:
        yield
    finally:
        if fake:
            fake.release_volume(volume_id)
        else:
            _run("release_volume", hooks.release_volume, values)


def settle_s(csi: CsiTarget) -> float:
    """How long a driver may take to notice; our fake notices at once."""
    return 0.5 if csi.fake else 30.0


def _run(hook: str, command: Sequence[str], values: Mapping[str, str]) -> None:
    run_hook(f"hooks.{hook}", [fill(word, values) for word in command])
