"""What a plugin lists: all its devices at once, by ids that hold, in the words of the API."""

from __future__ import annotations

import contextlib

from conformance.deviceplugin.plugins.needs import EMPTY
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.watch import listed
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect, should, together
from refimpl.deviceplugin.devicemanager.links import RECEIVE_BYTES
from refimpl.wire.client import Unreachable

ID_LENGTH = 63
HEALTH = ("Healthy", "Unhealthy")
MUCH = 1024 * 1024


@case("DP-PLG-013", "device plugin v1beta1, ListAndWatch")
def test_the_first_list_comes_at_once_and_is_complete(plugin: DevicePluginUnderTest) -> None:
    """Until then the node has nothing, and what is missing in it cannot be given to pods."""
    watch = plugin.calls.watch()
    expect(watch.lists, "a list comes within 5 s", wanted="a list", got=watch.ended)
    with together() as check:
        first = listed(watch.lists[0])
        with check:
            plugin.stays(
                lambda: not watch.newest.keys() - first.keys(),
                "the first list has all devices in it",
            )
        others = plugin.ids(healthy=False)
        with check:
            expect(
                sorted(first) == others,
                "every stream has the same list",
                wanted=others,
                got=sorted(first),
            )


@case("DP-PLG-014", "device plugin v1beta1, ListAndWatch")
def test_the_stream_stays_open_while_nothing_changes(plugin: DevicePluginUnderTest) -> None:
    """Kubelet takes its end for the plugin's end, and does not open it again.

    The row watches for a minute; a second or two find a handler that returns.
    """
    watch = plugin.calls.watch()
    first = listed(watch.lists[0])
    with together() as check:
        with check:
            plugin.stays(lambda: not watch.ended, "ListAndWatch does not end")
        other = next((each for each in map(listed, watch.lists) if each != first), None)
        with check:
            expect(other is None, "repeated lists are the same", wanted=first, got=other)


@case("DP-PLG-015", "device plugin v1beta1, Device.ID")
def test_ids_are_unique_short_and_plain(plugin: DevicePluginUnderTest) -> None:
    """They are keys: in kubelet's tables, in environment variables, in annotations."""
    ids = [device.ID for device in plugin.calls.watch().lists[0].devices]
    with together() as check:
        twice = sorted({id for id in ids if ids.count(id) > 1}) if len(set(ids)) < len(ids) else []
        with check:
            expect(
                not twice,
                "an id is of one device",
                wanted="each once",
                got=f"several times: {twice}",
            )
        long = [id for id in ids if not 0 < len(id) <= ID_LENGTH]
        rule = f"an id has 1 to {ID_LENGTH} characters"
        with check:
            expect(not long, rule, wanted=rule, got=long[:3])
        odd = [id for id in ids if not id.isprintable() or "," in id]
        with check:
            should(
                not odd,
                "ids are printable and without commas",
                wanted="ids that can be put into a list with commas",
                got=odd[:3],
            )


@case("DP-PLG-016", "device plugin v1beta1, Device.health")
def test_health_is_one_of_two_words(plugin: DevicePluginUnderTest) -> None:
    """Kubelet compares the text: `healthy` is a device that nobody gets."""
    devices = plugin.calls.watch().lists[0].devices
    odd = [f"{each.ID!r}: {each.health!r}" for each in devices if each.health not in HEALTH]
    expect(not odd, "health is Healthy or Unhealthy", wanted=" or ".join(HEALTH), got=odd[:3])


@case("DP-PLG-017", "device plugin v1beta1, TopologyInfo")
def test_topology_names_numa_nodes_that_there_are(plugin: DevicePluginUnderTest) -> None:
    """The topology manager drops other nodes, and then a pod that wants alignment is refused."""
    there = plugin.sessions.setup.numa_nodes
    odd = []
    for device in plugin.calls.watch().lists[0].devices:
        nodes = [node.ID for node in device.topology.nodes]
        if device.HasField("topology") and not (nodes and set(nodes) <= there):
            odd.append(f"{device.ID!r}: {nodes}")
    should(
        not odd,
        "topology is left out, or names nodes that there are",
        wanted=f"nodes of {sorted(there)}, or no topology",
        got=odd[:3],
    )


@case("DP-PLG-018", "Kubernetes 1.37 kubelet, ListAndWatch")
def test_a_list_fits_into_a_message(plugin: DevicePluginUnderTest) -> None:
    """gRPC takes 4 MiB: of a longer list kubelet gets nothing, and the devices are gone."""
    # Of a longer one kubelet ends the stream, and many a plugin then begins anew at another socket.
    (size,) = eventually(lambda: _size_of_a_list(plugin), 20.0, "a list comes")
    with together() as check:
        with check:
            expect(
                size < RECEIVE_BYTES, "a list has less than 4 MiB", wanted=RECEIVE_BYTES, got=size
            )
        with check:
            should(size <= MUCH, "a list has no more than 1 MiB", wanted=MUCH, got=size)


def _size_of_a_list(plugin: DevicePluginUnderTest) -> tuple[int, ...]:
    """In bytes; empty where the plugin has just left its socket."""
    with contextlib.suppress(Unreachable):
        lists = plugin.calls.watch().lists
        return tuple(each.ByteSize() for each in lists[:1])
    return ()


@case("DP-PLG-019", "device plugin v1beta1, Device.ID")
def test_ids_outlive_the_plugin(plugin: DevicePluginUnderTest) -> None:
    """Kubelet keeps ids of running pods over a restart of the plugin: under other ids the same
    hardware would be given to a second pod."""
    before, first = plugin.ids(healthy=False), plugin.link()
    plugin.terminate()
    plugin.start_again()
    plugin.link(after=first, what="after its restart the plugin is registered")
    after = plugin.ids(healthy=False)
    expect(before == after, "ids stay the same over a restart", wanted=before, got=after)


@case("DP-PLG-024", "robustness: no devices", needs=[EMPTY])
def test_a_plugin_without_devices_runs_on(plugin: DevicePluginUnderTest) -> None:
    """A DaemonSet puts it on every node: on those without the hardware it must not crash in a
    loop. Registered with an empty list or not registered, both will do."""
    plugin.cleared()
    plugin.kubelet.start()
    plugin.start_again(empty=True)
    plugin.stays(plugin.process.alive, "without devices the plugin runs")
    if plugin.session.arrivals:
        plugin.link(what="a plugin that registers without devices sends an empty list")
        ids = plugin.ids(healthy=False)
        expect(not ids, "the list of no devices is empty", wanted="no devices", got=ids)
