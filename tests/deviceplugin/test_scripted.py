"""A plugin that does as it is told: what it notes, and how it goes wrong when it is to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import grpc
import pytest

from refimpl.registration.api import registration_pb2 as pb
from refimpl.registration.api.registration_pb2_grpc import RegistrationStub
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint, probe
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.conftest import Plugins
from tests.deviceplugin.kubelet_rig import GPU, Scripted

StubCall = Callable[[RegistrationStub], Any]


def answer_of(plugin: Scripted, call: StubCall) -> Any:
    """The answer of its registration service."""
    with Channel(Endpoint.parse(plugin.path)) as channel:
        channel.wait_ready(30.0)
        return call(RegistrationStub(cast("grpc.Channel", channel)))


def info(stub: RegistrationStub, timeout: float = 30.0) -> pb.PluginInfo:
    return stub.GetInfo(pb.InfoRequest(), timeout=timeout)


def test_registration_is_scripted_like_everything_else(scripted: Plugins) -> None:
    """Calls are noted with the time their callers left, and refused where that is wanted."""
    plugin = scripted().serve()
    assert answer_of(plugin, info).name == GPU
    plugin.refused["GetInfo"] = Code.UNIMPLEMENTED
    with pytest.raises(Refused, match="UNIMPLEMENTED"):
        answer_of(plugin, info)
    assert plugin.order == ["GetInfo", "GetInfo"]
    # gRPC sends a deadline rounded up.
    assert plugin.deadlines["GetInfo"] == [pytest.approx(30, abs=2)] * 2


def test_a_notification_that_is_refused_is_not_kept(scripted: Plugins) -> None:
    """The plugin never took it in."""
    plugin = scripted().serve()
    plugin.refused["NotifyRegistrationStatus"] = Code.UNKNOWN
    status = pb.RegistrationStatus(plugin_registered=True)
    with pytest.raises(Refused, match="UNKNOWN"):
        answer_of(plugin, lambda stub: stub.NotifyRegistrationStatus(status, timeout=30))
    assert plugin.registration.notified == ()
    assert len(plugin.calls("NotifyRegistrationStatus")) == 1


def test_a_slow_answer_costs_no_time_where_nobody_will_wait_for_it(scripted: Plugins) -> None:
    """The caller hears at once what it would have heard when its deadline passed."""
    plugin = scripted().serve()
    plugin.slow["GetInfo"] = 1000.0
    with pytest.raises(Refused, match="DEADLINE_EXCEEDED"):
        answer_of(plugin, lambda stub: info(stub, 999.0))
    assert plugin.given_up == ["GetInfo"]
    plugin.slow["GetInfo"] = 0.01
    assert answer_of(plugin, info).name == GPU
    assert plugin.given_up == ["GetInfo"]


def test_a_plugin_that_dies_leaves_its_socket(scripted: Plugins, folder: Path) -> None:
    """Another one may take its place; when it is stopped at last, the socket goes."""
    (folder / "device-plugins").mkdir()
    plugin = scripted().serve(freezable=True)
    answer_of(plugin, info)
    plugin.die()
    assert not plugin.serving
    assert probe(Endpoint.parse(plugin.path)) == "stale"
    plugin.stop()
    assert not plugin.path.exists()
