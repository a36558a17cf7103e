"""Hypothesis for cases: few examples, the same ones for the same --seed, nothing printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import HealthCheck, seed
from hypothesis import settings as hypothesis_settings

if TYPE_CHECKING:
    from conformance.cdi.host import CdiHost

F = TypeVar("F", bound=Callable[..., Any])


def examples(host: CdiHost, count: int) -> Callable[[F], F]:
    """Settings of a property within a case."""
    chosen = hypothesis_settings(
        max_examples=count,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )

    def decorate(function: F) -> F:
        decorated: F = seed(host.target.resolved.seed)(chosen(function))
        return decorated

    return decorate
