"""Properties within a case: few examples, the same for the same --seed, nothing printed or kept.

Imported by the cases that have one: hypothesis takes its time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, seed
from hypothesis import settings as hypothesis_settings

__all__ = ["examples", "quiet"]

F = TypeVar("F", bound=Callable[..., Any])


def quiet(count: int, *, steps: int = 50, shrink: bool = True) -> hypothesis_settings:
    """Settings of a property. steps: of a state machine. shrink: whether a failure is made small,
    which takes many more calls. One failure is told, not all that there are.
    """
    return hypothesis_settings(
        max_examples=count,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def examples(count: int, number: int) -> Callable[[F], F]:
    """Decorates a property that is tried with so many examples; number: of --seed."""

    def decorate(function: F) -> F:
        decorated: F = seed(number)(quiet(count)(function))
        return decorated

    return decorate
