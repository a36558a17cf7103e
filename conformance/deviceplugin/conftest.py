"""Fixtures of the device suites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conformance.engine.judging.session import judge_of

if TYPE_CHECKING:
    from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
    from conformance.kubelet.node import NodeUnderTest


@pytest.fixture
def device_target(request: pytest.FixtureRequest) -> Any:
    """The target as a whole: of a plugin, of a client, or of our fakes of both."""
    return judge_of(request.config).target("deviceplugin")


@pytest.fixture
def node(request: pytest.FixtureRequest, device_target: Any) -> NodeUnderTest:
    """The client under test; plugins and pods of a case go with it."""
    node: NodeUnderTest = device_target.node(judge_of(request.config).scope)
    return node


@pytest.fixture
def plugin(request: pytest.FixtureRequest, device_target: Any) -> DevicePluginUnderTest:
    """The plugin under test."""
    plugin: DevicePluginUnderTest = device_target.plugin(judge_of(request.config).scope)
    return plugin
