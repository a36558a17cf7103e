"""Several at a time: instances of one plugin, resources of one process."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from conformance.deviceplugin.plugins.answers import kept
from conformance.deviceplugin.plugins.needs import ONE_DEVICE, SEVERAL_ENDPOINTS, SEVERAL_RESOURCES
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.deviceplugin.devicemanager.links import PluginLink
from refimpl.wire.endpoint import Endpoint

SURGE = "Kubernetes 1.37 kubelet, several endpoints of a resource"


@case("DP-PLG-073", SURGE, needs=[ONE_DEVICE])
def test_two_instances_serve_side_by_side(plugin: DevicePluginUnderTest) -> None:
    """An update that starts the new pod before it ends the old one leaves no gap, if each has a
    socket of its own: of two at one name kubelet refuses the second and loses the first."""
    first, ids = plugin.link(), plugin.ids()[:4]
    here, there = Endpoint.parse(first.connection.socket), _second(plugin)
    expect(there != here, "a second instance has a socket of its own", wanted="another", got=there)
    plugin.link(after=first, what="the second instance is registered and its first list has come")
    problem = plugin.calls.problem_at(lambda: here, 5.0)
    expect(not problem, "the first instance goes on serving", wanted="an answer", got=problem)
    wrong = [
        f"{id!r}: {sorted(old ^ new)}"
        for id in ids
        if (old := kept(plugin, id, here)) != (new := kept(plugin, id, there))
    ]
    expect(not wrong, "both answer Allocate equally", wanted="the same answers", got=wrong)


@case("DP-PLG-074", SURGE, needs=[SEVERAL_ENDPOINTS])
def test_an_instance_that_ends_leaves_the_socket_of_the_next_alone(
    plugin: DevicePluginUnderTest,
) -> None:
    """The end of the old pod takes the new one's socket away, and the node has no devices after
    every update."""
    first = plugin.link()
    second = _second(plugin)
    if second.path != Endpoint.parse(first.connection.socket).path:
        plugin.link(after=first, what="the second instance is registered and its list has come")
    plugin.terminate()
    problem = plugin.calls.problem_at(lambda: second, 5.0)
    rule = "the second instance serves after the end of the first"
    with together() as check:
        with check:
            expect(not problem, rule, wanted=f"an answer at {second.path}", got=problem)
        with check:
            plugin.stays(
                lambda: Path(second.path).is_socket(), "the second instance keeps its socket"
            )


def _second(plugin: DevicePluginUnderTest) -> Endpoint:
    """Starts a second instance, and says where it serves, whether kubelet takes it or not."""
    # Names of sockets often have the second of the start in them, which is never the same.
    plugin.stays(plugin.process.alive, "the first instance runs")
    links, arrivals = len(plugin.links()), len(plugin.arrivals())
    plugin.another()

    def serves() -> Endpoint | None:
        came = [each.socket for each in plugin.arrivals()[arrivals:]]
        came += [Endpoint.parse(link.connection.socket) for link in plugin.links()[links:]]
        return came[0] if came else None

    socket = plugin.until(serves, "a second instance registers beside the first")
    assert socket is not None
    return socket


@case("DP-PLG-082", "device plugin v1beta1, Register", needs=[SEVERAL_RESOURCES])
def test_resources_of_one_process_fail_each_for_itself(plugin: DevicePluginUnderTest) -> None:
    """One resource that kubelet does not take, say for its name, must not cost the node the others.
    Each is registered, and then the one that came first is refused."""
    plugin.link()
    plugin.until(lambda: len(plugin.resources) > 1, "each resource is registered")
    names = plugin.resources
    for name in names:
        plugin.until(partial(_serving, plugin, name), f"a list of {name} comes")
    refused, others = names[0], names[1:]
    plugin.cleared()
    plugin.kubelet.start()
    with plugin.kubelet.refusing("refused for a while", resource=refused):
        plugin.start_again()
        for name in others:
            plugin.until(
                partial(_serving, plugin, name),
                f"{name} is registered while {refused} is refused",
            )
        plugin.stays(
            lambda: all(_serving(plugin, name) for name in others),
            f"the other resources stay registered while {refused} is refused",
        )
    plugin.until(
        lambda: _serving(plugin, refused) or not plugin.process.alive(),
        f"{refused} is registered once it is not refused any more",
        60.0,
    )


def _serving(plugin: DevicePluginUnderTest, resource: str) -> list[PluginLink]:
    return [
        link
        for link in plugin.session.kubelet.links
        if link.connection.resource == resource and link.lists and not link.ended
    ]
