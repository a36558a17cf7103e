"""What a plugin tells of devices that fail, recover, go and come; and to whom."""

from __future__ import annotations

from conformance.deviceplugin.plugins.needs import (
    BREAKABLE,
    MEASURABLE,
    MENDABLE,
    PLUGGABLE,
    PUSHES,
    SOURCE,
    TWO_DEVICES,
    UNPLUGGABLE,
)
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.rest import at_rest
from conformance.deviceplugin.plugins.watch import Watch, listed
from conformance.engine.case import case
from conformance.engine.verdict import expect, together

NOTICE_S, RECOVER_S, AGAIN_S = 30.0, 60.0, 60.0
"""How soon a loss and a recovery are told, and a plugin registers again."""

NEW = "refimpl-new"
CYCLES = 100
SPARE = 20
"""Threads or descriptors more than before that are no leak of one a cycle."""


@case("DP-PLG-020", "device plugin v1beta1, ListAndWatch", needs=[BREAKABLE])
def test_the_loss_of_a_device_is_told_in_a_whole_list(plugin: DevicePluginUnderTest) -> None:
    """A pod that gets a dead device fails where it runs; a short list takes devices away that are
    well."""
    watch = plugin.calls.watch()
    before, lost = watch.newest, plugin.ids()[0]
    with plugin.hooks.broken(lost):
        plugin.until(
            lambda: watch.newest.get(lost) != "Healthy",
            f"within {NOTICE_S:g} s a list has the device as Unhealthy",
            NOTICE_S,
        )
        wanted = {**before, lost: "Unhealthy"}
        newest = watch.newest
        expect(newest == wanted, "only that device is Unhealthy", wanted=wanted, got=newest)


@case("DP-PLG-021", "device plugin v1beta1, ListAndWatch", needs=[BREAKABLE, MENDABLE])
def test_the_recovery_of_a_device_is_told(plugin: DevicePluginUnderTest) -> None:
    """Else it is lost to the node until somebody restarts the plugin."""
    watch = plugin.calls.watch()
    lost = plugin.ids()[0]
    with plugin.hooks.broken(lost):
        plugin.until(
            lambda: watch.newest.get(lost) != "Healthy", "the loss of the device is told", NOTICE_S
        )
    plugin.until(
        lambda: watch.newest.get(lost) == "Healthy",
        f"within {RECOVER_S:g} s a list has the device as Healthy again",
        RECOVER_S,
    )
    expect(not watch.ended, "by the same stream", wanted="an open stream", got=watch.ended)


@case("DP-PLG-087", "device plugin v1beta1, ListAndWatch", needs=[BREAKABLE, TWO_DEVICES])
def test_a_broken_device_stays_so_when_another_breaks(plugin: DevicePluginUnderTest) -> None:
    """Health that is kept as the last event heals each device with the fault of the next, and pods
    get one that is dead."""
    watch = plugin.calls.watch()
    first, second = plugin.ids()[:2]
    with plugin.hooks.broken(first):
        _await_loss(plugin, watch, first)
        told = len(watch.lists)
        with plugin.hooks.broken(second):
            _await_loss(plugin, watch, second)
        if plugin.hooks.has(MENDABLE.name):
            plugin.until(
                lambda: watch.newest.get(second) == "Healthy",
                "the recovery of the second device is told",
                RECOVER_S,
            )

        def healed() -> list[int]:
            since = enumerate(watch.lists[told:], 1)
            return [number for number, each in since if listed(each).get(first) == "Healthy"]

        rule = f"{first} stays Unhealthy until it is mended, while {second} breaks and recovers"
        plugin.stays(lambda: not healed(), rule)


def _await_loss(plugin: DevicePluginUnderTest, watch: Watch, id: str) -> None:
    rule = f"the loss of {id!r} is told"
    plugin.until(lambda: watch.newest.get(id) != "Healthy", rule, NOTICE_S)


@case("DP-PLG-088", "robustness: a device comes back", needs=[UNPLUGGABLE, PLUGGABLE])
def test_a_device_that_comes_back_is_healthy(plugin: DevicePluginUnderTest) -> None:
    """A cable that was pulled and put back. Else the device is lost to the node until somebody
    restarts the plugin."""
    watch = plugin.calls.watch()
    id = plugin.ids()[0]
    plugin.spoil()
    plugin.hooks.run("remove_device", id)
    plugin.until(
        lambda: watch.newest.get(id) in (None, "Unhealthy"),
        f"a list without {id!r}, or with it as Unhealthy",
        NOTICE_S,
    )
    plugin.hooks.run("add_device", id)
    plugin.until(
        lambda: watch.newest.get(id) == "Healthy",
        f"{id!r}, removed and added again, is listed as Healthy",
        RECOVER_S,
    )


@case("DP-PLG-022", "device plugin v1beta1, ListAndWatch", needs=[UNPLUGGABLE])
def test_a_device_that_is_gone_is_not_healthy_any_more(plugin: DevicePluginUnderTest) -> None:
    """It may be listed as Unhealthy, which kubelet bears better, or not at all."""
    watch = plugin.calls.watch()
    gone = plugin.ids()[0]
    plugin.spoil()
    plugin.hooks.run("remove_device", gone)
    plugin.until(
        lambda: watch.newest.get(gone) in (None, "Unhealthy"),
        "a list without the device, or with it as Unhealthy",
        NOTICE_S,
    )
    plugin.hooks.run_if_any("add_device", gone)


@case("DP-PLG-023", "robustness: a device is added", needs=[PLUGGABLE])
def test_a_device_that_is_new_is_listed(plugin: DevicePluginUnderTest) -> None:
    """Without a restart of the plugin, which would cost the others a moment."""
    watch = plugin.calls.watch()
    before = set(watch.newest)
    plugin.spoil()
    plugin.hooks.run("add_device", NEW)
    plugin.until(lambda: set(watch.newest) - before, "a list with the new device in it", RECOVER_S)
    plugin.hooks.run_if_any("remove_device", NEW)


@case("DP-PLG-025", "robustness: ListAndWatch is cancelled", needs=[MEASURABLE])
def test_cancelled_streams_leave_nothing_behind(plugin: DevicePluginUnderTest) -> None:
    """Each restart of kubelet leaves one: handlers that never end fill the plugin up."""
    plugin.calls.watch().cancel()
    before = at_rest(plugin)
    for _ in range(CYCLES):
        plugin.calls.glance()
    plugin.calls.watch()

    def growth() -> list[str]:
        now = plugin.process.measures()
        if before is None or now is None:
            return []
        pairs = {"threads": (before.threads, now.threads), "descriptors": (before.fds, now.fds)}
        return [
            f"{name}: {old}, now {new}" for name, (old, new) in pairs.items() if new > old + SPARE
        ]

    plugin.until(
        lambda: not growth(), f"threads and descriptors are as before {CYCLES} streams", 10.0
    )


@case("DP-PLG-026", "robustness: several streams", needs=[BREAKABLE])
def test_every_open_stream_is_told_of_a_change(plugin: DevicePluginUnderTest) -> None:
    """The stream of a kubelet that is gone may be open still; where one of them takes the news,
    the other never hears it."""
    plugin.link()
    watches = [plugin.calls.watch(), plugin.calls.watch()]
    lost = plugin.ids()[0]
    with together() as check, plugin.hooks.broken(lost):
        for watch in watches:
            with check:
                plugin.until(
                    lambda watch=watch: watch.newest.get(lost) != "Healthy",  # type: ignore[misc]
                    "the loss of a device is told to every stream",
                    NOTICE_S,
                )
        with check:
            plugin.until(
                lambda: lost not in plugin.ids(),
                "the loss of a device is told to kubelet",
                NOTICE_S,
            )


@case("DP-PLG-027", "Kubernetes 1.37 kubelet, ListAndWatch", needs=[PUSHES])
def test_a_plugin_whose_stream_is_dropped_registers_again(plugin: DevicePluginUnderTest) -> None:
    """Kubelet has forgotten it then, though its socket is there and kubelet.sock is the same."""
    first = plugin.link()
    plugin.may_exit()
    plugin.kubelet.drop()
    plugin.until(
        lambda: (
            [each for each in plugin.living() if each is not first] or not plugin.process.alive()
        ),
        f"within {AGAIN_S:g} s after its stream was dropped the plugin registers again, or exits",
        AGAIN_S,
    )


@case("DP-PLG-028", "robustness: no list can be had", needs=[SOURCE])
def test_a_plugin_that_cannot_list_says_so(plugin: DevicePluginUnderTest) -> None:
    """Where only the stream ends, the devices are gone for kubelet and nobody brings them back."""
    first = plugin.link()
    plugin.spoil()
    plugin.hooks.run("break_source")

    def sign() -> str:
        if first.ended:
            return "the stream ended"
        ill = [id for id, each in plugin.devices().items() if not each.healthy]
        return "devices are Unhealthy" if ill else ""

    shown = plugin.soon(sign, NOTICE_S)
    plugin.hooks.run_if_any("mend_source")
    if first.ended:
        plugin.link(after=first, what="a plugin whose stream ended registers again")
    expect(
        shown,
        "a plugin that cannot list its devices registers again or tells them as Unhealthy",
        wanted="another registration, or a list",
        got="no change",
    )
