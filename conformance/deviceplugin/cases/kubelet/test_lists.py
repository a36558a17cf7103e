"""What a client makes of the lists of devices that a plugin sends (DP-KUB)."""

from __future__ import annotations

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, timeout, together
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb

COUNTED = Feature("capacity")
INTAKE, COUNTS = "device plugin API v1beta1: ListAndWatch", "kubelet: capacity of a resource"
MIB = 1024 * 1024


def device(id: str, health: str = "Unhealthy") -> pb.Device:
    """A device that is not quite well."""
    return pb.Device(ID=id, health=health)


@case("DP-KUB-011", COUNTS, needs=[COUNTED])
def test_unhealthy_devices_count_for_capacity_and_not_for_allocatable(node: NodeUnderTest) -> None:
    """A scheduler that counts a broken device places a pod that can never start."""
    plugin = node.joined("a", "b", "c", device("d"))
    node.counted(plugin.resource, (4, 3), "of four devices, one unhealthy, three can be had")


@case("DP-KUB-012", INTAKE, needs=[COUNTED])
def test_whatever_is_not_exactly_healthy_is_unhealthy(node: NodeUnderTest) -> None:
    """A word that the client does not know says nothing good of a device."""
    strange = [device(f"d{number}", word) for number, word in enumerate(("healthy", "", "Unknown"))]
    plugin = node.joined("a", *strange)
    node.counted(plugin.resource, (4, 1), "only the word Healthy makes a device healthy")


@case("DP-KUB-013", INTAKE, needs=[COUNTED])
def test_an_empty_list_is_a_list(node: NodeUnderTest) -> None:
    """A plugin whose hardware was unplugged is still there, and says so when it is back."""
    plugin = node.joined("a", "b")
    plugin.send()
    with together() as check:
        with check:
            node.counted(plugin.resource, (0, 0), "a plugin without devices has a resource of none")
        plugin.send("c")
        with check:
            node.counted(plugin.resource, (1, 1), "after an empty list the plugin is heard on")
        with check:
            expect(
                plugin.calls("ListAndWatch") and plugin.streams == 1,
                "the stream goes on after an empty list",
                wanted="the one ListAndWatch, open",
                got=f"{len(plugin.calls('ListAndWatch'))} calls, {plugin.streams} open",
            )


@case("DP-KUB-014", INTAKE, needs=[COUNTED])
def test_a_list_replaces_all_that_was_known(node: NodeUnderTest) -> None:
    """There is no message that takes a device away: one that is missing is gone (kubernetes
    55179)."""
    plugin = node.joined("a", "b", "c")
    plugin.send("b")
    with together() as check:
        with check:
            node.counted(plugin.resource, (1, 1), "a shorter list leaves nothing of the longer one")
        with check:
            expect(
                node.podresources.allocatable(plugin.resource) == {"b"},
                "what is left is what was listed last",
                wanted="b",
                got=node.podresources.allocatable(plugin.resource),
            )


@case("DP-KUB-015", INTAKE, needs=[COUNTED])
def test_a_device_that_is_listed_twice_counts_once(node: NodeUnderTest) -> None:
    """Else two pods could be placed for the one device."""
    plugin = node.joined("a", "a", "b")
    node.counted(plugin.resource, (2, 2), "an id is one device, however often it is listed")


@case("DP-KUB-016", COUNTS, needs=[COUNTED])
def test_a_device_listed_as_healthy_and_as_unhealthy_counts_for_both(node: NodeUnderTest) -> None:
    """A quirk of kubelet, which keeps a set of each; who compares capacities should know of it."""
    plugin = node.joined("a", device("a"))
    node.counted(plugin.resource, (2, 1), "an id in both states is in both sets")


@case("DP-KUB-017", INTAKE)
def test_ids_of_any_length_and_script_are_taken(node: NodeUnderTest) -> None:
    """The API speaks of 63 characters, and nobody checks: plugins put UUIDs and paths together."""
    lengths = [letter * length for letter, length in zip("abc", (63, 64, 300), strict=True)]
    plugin = node.joined(*lengths, "grün-デバイス", "")
    expect(
        node.podresources.allocatable(plugin.resource) == {*lengths, "grün-デバイス", ""},
        "an id is taken as it comes",
        wanted="ids of 63, 64 and 300 characters, one in UTF-8, and the empty one",
        got=sorted(node.podresources.allocatable(plugin.resource)),
    )


@case("DP-KUB-018", "robustness: many devices", needs=[COUNTED, Feature("pods")])
def test_ten_thousand_devices_are_taken_in_and_do_not_slow_pods_down(node: NodeUnderTest) -> None:
    """Shares of memory or of time slices are devices, too, and a node has many; within a second
    of its coming a pod's device is to be asked for."""
    plugin = node.plugin().serve()
    plugin.send(*(f"d{number}" for number in range(10_000)))
    plugin.register(node.plugins)
    node.counted(plugin.resource, (10_000, 10_000), "every device is taken in")
    pod = node.pods.run({plugin.resource: 1})
    expect(
        plugin.wait_for("Allocate", timeout_s=timeout(1)),
        "a pod is admitted among ten thousand devices as among few",
        wanted="Allocate within a second",
        got="none by then",
    )
    node.pods.running(pod)


@case("DP-KUB-019", "gRPC: limit of a message", needs=[COUNTED])
def test_a_list_above_four_mebibytes_ends_that_plugin_alone(node: NodeUnderTest) -> None:
    """gRPC's limit cuts the stream off. It must not be half a list, nor take other plugins along.
    A few ids of a mebibyte stand for tens of thousands."""
    other, plugin = node.joined("x"), node.joined("a", "b")
    plugin.send("c", *(letter * MIB for letter in "defg"))
    with together() as check:
        with check:
            node.counted(plugin.resource, (2, 0), "the plugin of a list that is too long is lost")
        with check:
            node.stays(
                lambda: (
                    (node.podresources.allocatable(other.resource), other.streams) == ({"x"}, 1)
                ),
                "other plugins go on",
                wanted="their devices and their stream",
            )
        with check:
            expect(
                len(plugin.calls("ListAndWatch")) == 1,
                "the stream is not opened anew",
                wanted="one ListAndWatch",
                got=plugin.order,
            )


@case("DP-KUB-020", "robustness: many lists")
def test_of_a_storm_of_lists_the_last_one_holds(node: NodeUnderTest) -> None:
    """A device that flaps has its plugin send without pause, and each list is written to the
    checkpoint. A thousand lists as fast as they go stand for ten seconds of it."""
    plugin = node.joined("a", "b")
    for _ in range(500):
        plugin.send("a", device("b"))
        plugin.send(device("a"), "b")
    plugin.send("last")
    node.until(
        lambda: node.podresources.allocatable(plugin.resource) == {"last"},
        "the last list of many is what holds",
    )
