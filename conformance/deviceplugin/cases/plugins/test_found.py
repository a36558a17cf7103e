"""Plugins that kubelet finds in plugins_registry, and what any plugin leaves alone there."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import grpc

from conformance.deviceplugin.plugins.needs import FOUND
from conformance.deviceplugin.plugins.neighbours import SocketId, neighbours, socket_id
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.registration.api import registration_pb2 as pb
from refimpl.registration.api import registration_pb2_grpc as stubs
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Refused

ASKERS = 8
GET_INFO_S, NOTIFY_S, ENDS_S = 1.0, 5.0, 30.0


@case("REG-015", "plugin registration v1, NotifyRegistrationStatus", needs=[FOUND])
def test_a_plugin_that_was_refused_does_not_go_on_as_if_it_were_registered(
    plugin: DevicePluginUnderTest,
) -> None:
    """Kubelet will not use it, and only a new socket makes it look again: to end, or to begin anew,
    is all that helps."""
    plugin.link()
    socket = _registration_socket(plugin)
    before = socket_id(socket)
    refusal = pb.RegistrationStatus(plugin_registered=False, error="refimpl does not want it")
    plugin.spoil()
    plugin.may_exit()
    with contextlib.suppress(Refused):  # it may stop in the middle of this very call
        _stub(plugin, socket).NotifyRegistrationStatus(refusal, timeout=NOTIFY_S)
    plugin.until(
        lambda: not plugin.process.alive() or socket_id(socket) != before,
        "after plugin_registered=false the plugin does not go on serving at its socket",
        ENDS_S,
    )
    plugin.until(
        lambda: not plugin.process.alive() or _anew(plugin, before),
        "after plugin_registered=false the plugin ends, or serves at a new socket",
        ENDS_S,
    )


def _anew(plugin: DevicePluginUnderTest, before: SocketId) -> bool:
    return any(socket_id(Endpoint.parse(path)) != before for path in plugin.registry_sockets())


@case("REG-029", "plugin registration v1, sockets")
def test_sockets_of_others_are_left_alone(plugin: DevicePluginUnderTest) -> None:
    """The directories belong to all plugins of the node. Started, killed, started again over what
    it had left behind, and ended, it removes nothing but its own."""
    plugin.cleared()
    plugin.kubelet.start()
    with together() as check, neighbours(plugin) as others:
        plugin.start_again()
        old = plugin.link()
        with check:
            _check_there(others, "it is started")
        plugin.kill()
        plugin.until(lambda: old.ended, "kubelet sees the end of the killed plugin")
        plugin.stays(lambda: not plugin.process.alive(), "the killed plugin is dead")
        plugin.start_again()
        plugin.link(after=old, what="the plugin registers after it was killed and started again")
        with check:
            _check_there(others, "it is started again")
        plugin.terminate()
        with check:
            _check_there(others, "it has ended")


def _check_there(others: list[Path], when: str) -> None:
    gone = [path.name for path in others if not path.is_socket()]
    expect(not gone, f"sockets of others are there when {when}", wanted="all of them", got=gone)


@case("REG-030", "plugin registration v1, GetInfo", needs=[FOUND])
def test_a_plugin_introduces_itself_in_the_same_way_each_time(
    plugin: DevicePluginUnderTest,
) -> None:
    """Kubelet asks again after every attempt that failed, and several kubelet restarts may ask at
    once."""
    plugin.link()
    stub = _stub(plugin, _registration_socket(plugin))

    def ask(_: int) -> pb.PluginInfo:
        return stub.GetInfo(pb.InfoRequest(), timeout=GET_INFO_S)

    first, second = ask(1), ask(2)
    with together() as check:
        with check:
            expect(first == second, "GetInfo is answered equally twice", wanted=first, got=second)
        with ThreadPoolExecutor(ASKERS) as askers:
            others = [each for each in askers.map(ask, range(ASKERS)) if each != first]
        with check:
            expect(not others, f"and {ASKERS} times at once", wanted=first, got=others)


def _stub(plugin: DevicePluginUnderTest, socket: Endpoint) -> stubs.RegistrationStub:
    return stubs.RegistrationStub(cast("grpc.Channel", plugin.calls.channel_to(socket)))


def _registration_socket(plugin: DevicePluginUnderTest) -> Endpoint:
    """That of the judged resource."""
    sockets = [Endpoint.parse(path) for path in plugin.registry_sockets()]
    named = {
        _stub(plugin, each).GetInfo(pb.InfoRequest(), timeout=GET_INFO_S).name: each
        for each in sockets
    }
    return named.get(plugin.resource, sockets[0])
