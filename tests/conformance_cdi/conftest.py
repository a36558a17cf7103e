"""Targets under test, as cases see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.cdi.target import CdiTarget, open_target
from tests.targets import resolved

Opener = Callable[..., CdiTarget]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens targets: `opened("fake", policy="practice")`; they are closed again."""
    made: list[CdiTarget] = []

    def make(target: str = "fake", *command: str, **settings: Any) -> CdiTarget:
        made.append(open_target(resolved("cdi", target, *command, **settings)))
        return made[-1]

    yield make
    for target in made:
        target.close()
