"""Takes things away behind the driver's back: by the user's hooks, or by our fake's own methods."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence

from conformance.csi.target import CsiTarget
from conformance.engine.options import BadOption
from conformance.engine.supervise import fill
from conformance.engine.verdict import timeout

HOOK_S = 60.0


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


def run_hook(name: str, command: Sequence[str]) -> None:
    """Runs one command of the user; raises BadOption when it cannot be run or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout(HOOK_S), check=False
        )
    except OSError as error:
        raise BadOption(f"{name}: {command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BadOption(f"{name}: did not end within {timeout(HOOK_S):g} s") from error
    if done.returncode:
        raise BadOption(f"{name}: ended with {done.returncode}: {done.stderr.strip()[:200]}")
