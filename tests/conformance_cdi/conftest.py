"""Targets under test, as cases see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.cdi.target import CdiTarget, open_target
from conformance.engine.scope import CaseScope
from tests.targets import resolved

Opener = Callable[..., CdiTarget]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens targets: `opened("fake", policy="practice")`; they are closed again."""
    targets: list[CdiTarget] = []

    def open_one(target: str = "fake", *command: str, **settings: Any) -> CdiTarget:
        targets.append(open_target(resolved("cdi", target, *command, **settings)))
        return targets[-1]

    yield open_one
    for target in targets:
        target.close()


@pytest.fixture
def scope(opened: Opener) -> Iterator[CaseScope]:  # noqa: ARG001 - closed before the targets
    """The scope of a case."""
    scope = CaseScope()
    yield scope
    scope.close()
