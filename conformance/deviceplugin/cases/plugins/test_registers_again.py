"""Registering a second time: each socket once, and another one after a refusal."""

from __future__ import annotations

from conformance.deviceplugin.plugins.answers import repeated
from conformance.deviceplugin.plugins.needs import PUSHES
from conformance.deviceplugin.plugins.neighbours import SocketId, socket_id
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.session import Arrival
from conformance.engine.case import case
from conformance.engine.verdict import expect

AGAIN_S = 60.0
CONNECTED = "device plugin already connected"


@case("DP-PLG-083", "Kubernetes 1.37 kubelet, Register", needs=[PUSHES])
def test_two_signs_of_one_restart_lead_to_one_register(plugin: DevicePluginUnderTest) -> None:
    """When kubelet restarts, the plugin's socket vanishes and kubelet.sock appears. Who goes by
    both and registers the same socket twice is refused by kubelet 1.37, which forgets the first
    one by that and sees its end no more: only its next restart mends it."""
    old = plugin.link()
    came = len(plugin.arrivals())
    plugin.kubelet.restart("A", gap_s=0.0)
    plugin.link(after=old, what="the plugin registers after kubelet's restart", deadline_s=AGAIN_S)
    plugin.stays(lambda: not _doubled(plugin, came), "no socket is registered a second time")


def _doubled(plugin: DevicePluginUnderTest, came: int) -> list[str]:
    return repeated(each.request.endpoint for each in plugin.arrivals()[came:])


@case("DP-PLG-085", "Kubernetes 1.37 kubelet, Register", needs=[PUSHES])
def test_a_socket_that_is_taken_is_not_registered_over_and_over(
    plugin: DevicePluginUnderTest,
) -> None:
    """Kubelet takes the name for one that is connected and will refuse it until it restarts: only
    another name helps. A new server there, or an end that has the pod restarted, is a try."""
    servers: list[tuple[str, str, SocketId]] = []

    def note(arrival: Arrival) -> None:
        server = socket_id(arrival.socket)
        servers.append((arrival.resource, arrival.request.endpoint, server))

    plugin.cleared()
    plugin.may_exit()
    plugin.kubelet.start()
    with plugin.at_arrival(note), plugin.kubelet.refusing(CONNECTED):
        plugin.start_again()
        plugin.until(
            lambda: len(_of_first(servers)) > 1 or not plugin.process.alive(),
            f"who is refused with {CONNECTED!r} tries again, or ends",
            AGAIN_S,
        )
    expect(
        not plugin.process.alive() or len({*_of_first(servers)}) > 1,
        "the next attempt is made with another socket, or with a new server",
        wanted="another one",
        got=[name for _, name, _ in _of_first(servers)],
    )


def _of_first(servers: list[tuple[str, str, SocketId]]) -> list[tuple[str, str, SocketId]]:
    """Those of the resource that came first."""
    return [each for each in servers if each[0] == servers[0][0]]
