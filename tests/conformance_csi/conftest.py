"""A fake under test, as cases see it, and stand-ins for parts of a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.csi.capabilities import Offers
from conformance.csi.settings import CsiSettings
from conformance.csi.target import CsiTarget, open_target
from tests.targets import resolved

Opener = Callable[..., CsiTarget]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens targets: `opened("fake:no-attach", csi__testvolumesize=1)`; they are closed again."""
    made: list[CsiTarget] = []

    def make(target: str = "fake", *, revision: str = "", **settings: object) -> CsiTarget:
        made.append(open_target(resolved("csi", target, revision=revision, **settings)))
        return made[-1]

    yield make
    for target in made:
        target.close()


@pytest.fixture
def csi(opened: Opener) -> Iterator[CsiTarget]:
    """Our fake with all that it can do, cleaned up as after a case."""
    target = opened()
    yield target
    target.clean_up()


@pytest.fixture
def stub() -> Callable[..., Any]:
    """A target of which only settings, offers and what is given are there."""

    def make(*capabilities: str, settings: dict[str, Any] | None = None, **more: Any) -> Any:
        offers = more.pop("offers", Offers(capabilities=frozenset(capabilities)))
        return SimpleNamespace(offers=offers, settings=CsiSettings(**settings or {}), **more)

    return make
