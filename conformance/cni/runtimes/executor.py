"""Recorders as functions of this process, where that makes no difference to a runtime of ours."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

from conformance.cni.mutation import RuntimeMutant
from conformance.cni.plugins.calling import called
from conformance.engine.mutants import bent
from refimpl.cni.execute import PLAIN, Conditions, Outcome, Processes, Request
from refimpl.cni.plugins import settings_of

_TAKES_A_PROCESS = {"hang", "slow-stdin", "close-stdin", "hold-stdout", "flood", "signal"}


class RecorderExecutor:
    """Runs recorders as functions of this process where that makes no difference.

    until: when the caller's patience ends, by thread, as time.monotonic has it.
    """

    def __init__(self, mutant: RuntimeMutant | None) -> None:
        self._mutant, self._processes = mutant, Processes()
        self.until = threading.local()

    def run(
        self,
        plugin: str | Path,
        request: Request,
        *,
        deadline_s: float = 10.0,
        conditions: Conditions = PLAIN,
    ) -> Outcome:
        """What the plugin answers within the deadline, and the patience of who asked the runtime"""
        left = getattr(self.until, "at", time.monotonic() + deadline_s) - time.monotonic()
        deadline_s = max(min(deadline_s, left), 0.01)

        def proceed(request: Request, plugin: Path = Path(plugin), **other: Any) -> Outcome:
            how = {"deadline_s": deadline_s, "conditions": conditions, **other}
            return self._proceed(request, plugin=plugin, **how)

        outcome: Outcome = bent(self._mutant, "exec", proceed)(request, Path(plugin))
        return outcome

    def _proceed(
        self, request: Request, *, plugin: Path, deadline_s: float, conditions: Conditions
    ) -> Outcome:
        settings = _function_of(plugin)
        if settings is None:
            return self._processes.run(
                plugin, request, deadline_s=deadline_s, conditions=conditions
            )
        return called(settings, request)


def _function_of(plugin: Path) -> dict[str, Any] | None:
    """Settings of a recorder that can be called, None for what has to be a process."""
    try:
        settings = settings_of(plugin)
    except OSError:
        return None
    faults = {rule["do"] for rule in settings.get("faults") or ()}
    usable = os.access(plugin, os.X_OK) and plugin.stat().st_size > 1000
    return settings if usable and not faults & _TAKES_A_PROCESS else None
