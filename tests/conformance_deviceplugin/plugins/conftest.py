"""Targets of plugins, opened for a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.deviceplugin.plugins.opening import open_plugin
from conformance.deviceplugin.plugins.target import PluginTarget
from conformance.deviceplugin.settings import DpSettings
from refimpl.wire.journal import Journal
from tests.targets import resolved


@pytest.fixture
def opened() -> Iterator[Callable[..., PluginTarget]]:
    """Opens targets and closes them."""
    targets: list[PluginTarget] = []

    def make(target: str = "fake", *command: str, revision: str = "", **chosen: Any) -> Any:
        settings = DpSettings(**chosen)
        under_test = resolved(
            "deviceplugin", target, *command, revision=revision, settings=settings
        )
        targets.append(open_plugin(under_test, Journal()))
        return targets[-1]

    yield make
    for target in targets:
        target.close()
