"""A plugin's process: how it ends, what it leaves, what it keeps, and what a new one finds."""

from __future__ import annotations

import re
import signal
import stat

from conformance.deviceplugin.plugins.answers import Parts, kept
from conformance.deviceplugin.plugins.needs import DEEP_FOLDER, MEASURABLE, ONE_DEVICE
from conformance.deviceplugin.plugins.neighbours import neighbours, own_sockets
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.process import PluginProcess
from conformance.deviceplugin.plugins.watch import Watch
from conformance.engine.case import case
from conformance.engine.targets.process import Measures
from conformance.engine.verdict import Broken, expect, together
from refimpl.deviceplugin.devicemanager.layout import KUBELET_SOCKET
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint

END_S = 10.0
PATH_LENGTH = 107
"""Bytes of a socket's path on Linux."""
ALLOCATES, RECONNECTS = 1000, 100

_COMPLAINT = re.compile("too long|invalid|fail|error|cannot|could not|unable|exceed", re.I)


@case("DP-PLG-071", "Kubernetes pods: end of a container")
def test_a_plugin_ends_when_told_and_takes_its_own_socket_along(
    plugin: DevicePluginUnderTest,
) -> None:
    """A pod that does not end on SIGTERM holds up each rollout and each shutdown of the node. A
    socket that stays looks like a plugin, and that of another plugin is not its to remove."""
    plugin.fresh()
    plugin.link()
    own = own_sockets(plugin)
    with neighbours(plugin) as others:
        status = plugin.terminate(END_S)
        killed = status == -signal.SIGKILL
        with together() as check:
            rule = f"SIGTERM ends the plugin within {END_S:g} s"
            with check:
                expect(not killed, rule, wanted="its end", got=f"it had to be killed: {status}")
            left = [path.name for path in own if path.is_socket()]
            with check:
                expect(not left, "its own sockets go with it", wanted="none", got=left)
            gone = [
                path.name for path in (*others, plugin.folder / KUBELET_SOCKET) if not path.exists()
            ]
            with check:
                expect(not gone, "all other sockets stay", wanted="none is gone", got=gone)


@case("DP-PLG-072", "device plugin v1beta1, Register")
def test_a_plugin_that_was_killed_registers_when_it_is_started_again(
    plugin: DevicePluginUnderTest,
) -> None:
    """Out of memory, it leaves its socket behind. The next process must not stumble over it."""
    old = plugin.link()
    plugin.kill()
    plugin.until(lambda: old.ended, "kubelet sees the end of the killed plugin")
    plugin.stays(lambda: not plugin.process.alive(), "the killed plugin is dead")
    plugin.start_again()
    new = plugin.link(after=old, what="the plugin registers after it was killed and started again")
    problem = plugin.calls.problem_at(lambda: Endpoint.parse(new.connection.socket), 5.0)
    rule = "it serves at the socket that it has registered"
    expect(not problem, rule, wanted="an answer", got=problem)


@case("DP-PLG-075", "device plugin v1beta1, socket")
def test_not_everybody_may_write_to_the_socket(plugin: DevicePluginUnderTest) -> None:
    """Whoever may write to it may ask for any device. The directory is kubelet's and keeps most
    away, where it has not been opened up for a plugin."""
    plugin.link()
    open_ones = {
        path.name: stat.filemode(mode)
        for path in own_sockets(plugin)
        if (mode := path.stat().st_mode) & stat.S_IWOTH
    }
    expect(not open_ones, "sockets are not writable for all", wanted="srwxr-xr-x", got=open_ones)


@case("DP-PLG-080", "robustness: months of work", needs=[MEASURABLE, ONE_DEVICE], heavy=True)
def test_work_leaves_nothing_behind_in_the_process(plugin: DevicePluginUnderTest) -> None:
    """It runs as long as the node. A thousand calls of Allocate and a hundred kubelets that come
    and go, after a tenth of it to warm up: where each leaves something, it shows."""
    _work(plugin, ALLOCATES // 10, RECONNECTS // 10)
    before = _measured(plugin)
    _work(plugin, ALLOCATES, RECONNECTS)
    plugin.until(
        lambda: not _grown(before, _measured(plugin)),
        f"after {ALLOCATES} calls and {RECONNECTS} connections the plugin holds about what it held"
        f" before ({before.fds} descriptors, {before.threads} threads, {before.rss >> 20} MiB)",
        10.0,
    )


def _work(plugin: DevicePluginUnderTest, allocates: int, reconnects: int) -> None:
    ids = plugin.ids()
    for number in range(allocates):
        plugin.calls.allocate([ids[number % len(ids)]])
    for _ in range(reconnects):
        with Channel(plugin.socket) as channel:
            watch = Watch(channel)
            plugin.until(lambda watch=watch: watch.lists, "ListAndWatch brings a list")  # type: ignore[misc]
            watch.cancel()


def _measured(plugin: DevicePluginUnderTest) -> Measures:
    measures = plugin.process.measures()
    if measures is None:
        raise Broken("the plugin runs", "a process", plugin.process.fate())
    return measures


def _grown(before: Measures, now: Measures) -> bool:
    """A runtime's own threads and a cache here and there are allowed for."""
    more = now.fds - before.fds, now.threads - before.threads
    return max(more) > 20 or now.rss > 2 * before.rss + (64 << 20)


@case("DP-PLG-081", "unix sockets: sun_path", needs=[DEEP_FOLDER])
def test_a_socket_with_too_long_a_path_is_told_about(plugin: DevicePluginUnderTest) -> None:
    """With a long resource name or folder no socket can be made, which looks like a plugin that has
    nothing to do. It has to end with an error, to say so, or to choose a shorter name."""
    plugin.cleared(root_length=PATH_LENGTH - len(f"/device-plugins/{KUBELET_SOCKET}"))
    plugin.kubelet.start()
    process = plugin.start_again()
    plugin.until(
        lambda: _complains(process) or any(link.lists for link in plugin.session.links),
        f"a socket whose path would be longer than {PATH_LENGTH} bytes is an error, or not made",
    )


def _complains(process: PluginProcess) -> bool:
    failed = not process.alive() and process.status() != 0
    return bool(failed or _COMPLAINT.search(process.output()))


@case("DP-PLG-086", "device plugin v1beta1, Device.ID", needs=[ONE_DEVICE])
def test_an_id_means_the_same_device_after_a_restart(plugin: DevicePluginUnderTest) -> None:
    """Kubelet keeps what was answered for an id, and goes on to think of the device by it: where
    it is another one tomorrow, two pods share one device and nobody has the other."""
    old, ids = plugin.link(), plugin.ids()[:4]
    before = {id: _meaning(plugin, id) for id in ids}
    plugin.terminate()
    plugin.until(lambda: old.ended, "kubelet sees the end of the plugin")
    plugin.start_again()
    plugin.link(after=old, what="the plugin registers after a restart")
    again = {id: _meaning(plugin, id) for id in ids if id in plugin.ids()}
    wrong = [
        f"{id!r}: {sorted(before[id] ^ now)}" for id, now in again.items() if now != before[id]
    ]
    expect(
        not wrong,
        "an id has the same paths, variables and CDI names after a restart, or is another one",
        wanted="the same answers",
        got=wrong,
    )


def _meaning(plugin: DevicePluginUnderTest, id: str) -> Parts:
    return frozenset(part for part in kept(plugin, id) if part[0] != "annotation")
