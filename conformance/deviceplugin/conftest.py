"""Fixtures of the device suites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

from conformance.deviceplugin.target import DevicePluginTarget
from conformance.engine.session import judge_of
from conformance.kubelet.node import NodeUnderTest

if TYPE_CHECKING:
    from conformance.deviceplugin.bench import Plugin


@pytest.fixture
def device_target(request: pytest.FixtureRequest) -> DevicePluginTarget:
    """The target as a whole."""
    return cast("DevicePluginTarget", judge_of(request.config).target("deviceplugin"))


@pytest.fixture
def node(device_target: DevicePluginTarget) -> Iterator[NodeUnderTest]:
    """The client under test; plugins and pods of a case go with it."""
    side = device_target.client_side
    found = side.node()
    yield found
    side.done(found)


@pytest.fixture
def plugin(device_target: DevicePluginTarget) -> Iterator[Plugin]:
    """The plugin under test."""
    side = device_target.plugin_side
    found = side.plugin()
    yield found
    side.done(found)
