"""Targets under test, as cases see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.cdi.target import CdiTarget, open_target
from conformance.engine.options import Options

Opener = Callable[..., CdiTarget]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens targets: `opened("fake", cni_policy="practice")`; they are closed again."""
    made: list[CdiTarget] = []

    def make(target: str = "fake", *command: str, **settings: Any) -> CdiTarget:
        options = Options(
            interface="cdi", target=target, command=command, run_id="1", settings=settings
        )
        made.append(open_target(options))
        return made[-1]

    yield make
    for target in made:
        target.close()
