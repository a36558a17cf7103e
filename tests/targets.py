"""Targets as a user chooses them, for tests that open one."""

from __future__ import annotations

from typing import Any

import attrs

from conformance.engine.options import Options
from conformance.engine.targets.resolve import ResolvedTarget, resolve

__all__ = ["resolved"]


def resolved(
    interface: str,
    target: str = "fake",
    *command: str,
    side: str = "",
    revision: str = "",
    run_id: str = "1",
    settings: Any = None,
    **flags_given: Any,
) -> ResolvedTarget:
    """What TARGET and options say; `given`: options by flag, with `_` for `-` and `__` for a dot.

    settings: takes the place of what they say.
    """
    flags = {
        name.replace("__", ".").replace("_", "-"): value for name, value in flags_given.items()
    }
    options = Options(
        interface=interface,
        target=target,
        command=command,
        side=side,  # type: ignore[arg-type]
        revision=revision,
        run_id=run_id,
        settings=flags,
    )
    chosen = resolve(options, interface)
    return chosen if settings is None else attrs.evolve(chosen, settings=settings)
