"""A fake under test, as cases see it, and stand-ins for parts of a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.csi.capabilities import Capabilities
from conformance.csi.opening import open_target
from conformance.csi.settings import CsiSettings
from conformance.csi.target import CsiTarget
from conformance.engine.needs import Feature
from conformance.engine.scope import CaseScope
from tests.targets import resolved

Opener = Callable[..., CsiTarget]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens targets: `opened("fake:no-attach", csi__testvolumesize=1)`; they are closed again."""
    targets: list[CsiTarget] = []

    def make(target: str = "fake", *, revision: str = "", **settings: object) -> CsiTarget:
        targets.append(open_target(resolved("csi", target, revision=revision, **settings)))
        return targets[-1]

    yield make
    for target in targets:
        target.close()


@pytest.fixture
def csi(opened: Opener) -> Iterator[CsiTarget]:
    """Our fake with all that it can do, cleaned up as after a case."""
    target, scope = opened(), CaseScope()
    target.begin(scope)
    yield target
    scope.close()


@pytest.fixture
def stub() -> Callable[..., Any]:
    """A target of which only settings, capabilities and what is given are there."""

    def make(*capabilities: str, settings: dict[str, Any] | None = None, **more: Any) -> Any:
        advertised = more.pop("advertised", Capabilities(names=frozenset(capabilities)))
        chosen = CsiSettings(**settings or {})

        def has(*wanted: Feature) -> bool:
            return all(feature.name in advertised for feature in wanted)

        return SimpleNamespace(capabilities=advertised, settings=chosen, has=has, **more)

    return make
