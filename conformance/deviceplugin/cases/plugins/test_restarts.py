"""What a plugin notices of kubelet's end and start, and of its own socket's end."""

from __future__ import annotations

import contextlib
import functools

from conformance.deviceplugin.plugins.needs import PUSHES
from conformance.deviceplugin.plugins.plugin import REGISTER_S, DevicePluginUnderTest
from conformance.deviceplugin.plugins.rest import at_rest
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect
from refimpl.deviceplugin.devicemanager.links import PluginLink
from refimpl.deviceplugin.kubelet import RestartMode

FILES = 1000
RESTARTS, BETWEEN_S = 5, 2.0
SPARE = RESTARTS - 1
"""Descriptors more than before that are no leak of a server at each restart."""


@case("DP-PLG-063", "Kubernetes 1.37 kubelet, start", needs=[PUSHES])
def test_a_plugin_comes_back_to_a_restarted_kubelet(plugin: DevicePluginUnderTest) -> None:
    """Kubelet removes all sockets when it starts, and waits for plugins to register."""
    _comes_back(plugin, "A")


@case("DP-PLG-064", "Kubernetes 1.37 kubelet, start", needs=[PUSHES])
def test_a_plugin_comes_back_when_kubelet_takes_its_time(plugin: DevicePluginUnderTest) -> None:
    """Upgrades keep it away for minutes. The row has two of them between the end of the sockets
    and the start; a second or two show who gives up."""
    _comes_back(plugin, "B", gap_s=plugin.quiet_s)


@case("DP-PLG-065", "robustness: only kubelet.sock is new", needs=[PUSHES])
def test_a_new_kubelet_socket_is_enough_to_register_again(plugin: DevicePluginUnderTest) -> None:
    """Where sockets outlive kubelet, the plugin's own tells nothing."""
    _comes_back(plugin, "C")


@case("DP-PLG-066", "device plugin v1beta1, the plugin's socket", needs=[PUSHES])
def test_a_plugin_whose_socket_is_removed_registers_again(plugin: DevicePluginUnderTest) -> None:
    """That is the sign that kubelet gives to plugins."""
    _comes_back(plugin, "D")


@case("DP-PLG-067", "robustness: kubelet restarts in a row", needs=[PUSHES])
def test_after_many_restarts_there_is_one_registration(plugin: DevicePluginUnderTest) -> None:
    """A kubelet that crashes in a loop must not leave a server behind each time. The row has five
    restarts in 10 s; here the next comes as soon as the plugin is back."""
    last = plugin.link()
    before = at_rest(plugin)
    for _ in range(RESTARTS):
        plugin.kubelet.restart("A", gap_s=plugin.quiet_s / 10)
        last = plugin.soon(functools.partial(plugin.later, last), BETWEEN_S) or last
    plugin.link(what="after the last restart the plugin is registered", deadline_s=REGISTER_S)
    plugin.until(lambda: _settled(plugin), "in the end there is one registration, and it stays")
    wanted, sockets = len(plugin.resources), plugin.sockets()
    expect(len(sockets) == wanted, "there is one socket a resource", wanted=wanted, got=sockets)

    def more() -> int:
        now = plugin.process.measures()
        return max(now.fds - before.fds, 0) if now and before else 0

    plugin.until(lambda: more() <= SPARE, "descriptors are as before the restarts", 10.0)


def _settled(plugin: DevicePluginUnderTest) -> bool:
    """Whether there is one registration for a while: a slow plugin may still be at one of the
    restarts before."""
    with contextlib.suppress(Broken):
        plugin.stays(lambda: len(plugin.living()) == 1, "there is one registration")
        return True
    return False


@case("DP-PLG-068", "robustness: kubelet does not accept yet", needs=[PUSHES])
def test_a_plugin_waits_for_a_kubelet_that_does_not_accept_yet(
    plugin: DevicePluginUnderTest,
) -> None:
    """The socket is there some time before anybody answers at it."""
    plugin.cleared()
    plugin.may_exit()
    plugin.kubelet.start(accepting=False)
    plugin.start_again()
    plugin.stays(plugin.process.alive, "while kubelet does not accept, the plugin waits", times=2.5)
    plugin.kubelet.thaw()
    plugin.link(what="once kubelet accepts, the plugin is registered", deadline_s=REGISTER_S)


@case("DP-PLG-069", "robustness: the directory is replaced", needs=[PUSHES])
def test_a_plugin_survives_its_directory_or_exits(plugin: DevicePluginUnderTest) -> None:
    """A watch is bound to the directory of old: who only watches that hears nothing any more."""
    first = plugin.link()
    plugin.may_exit()
    plugin.kubelet.stop()
    plugin.kubelet.remove_folder()
    plugin.kubelet.start()
    plugin.until(
        lambda: (
            [each for each in plugin.living() if each is not first] or not plugin.process.alive()
        ),
        "after its directory was replaced the plugin registers again, or exits",
        2 * REGISTER_S,
    )


@case("DP-PLG-070", "robustness: other files in the directory", needs=[PUSHES])
def test_other_files_are_none_of_its_business(plugin: DevicePluginUnderTest) -> None:
    """Others keep things there, too; a thousand files come and go."""
    link = plugin.link()
    calls = len(plugin.arrivals())
    plugin.spoil()
    for number in range(FILES):
        path = plugin.folder / f"other-{number}"
        path.touch()
        if number % 2:
            path.unlink()
    plugin.stays(
        lambda: not link.ended and len(plugin.arrivals()) == calls,
        "among other files the plugin stays registered as it is",
    )
    plugin.calls.options()


def _comes_back(
    plugin: DevicePluginUnderTest, mode: RestartMode, gap_s: float | None = None
) -> PluginLink:
    """Restarts kubelet in that way; the registration that follows."""
    first = plugin.link()
    plugin.kubelet.restart(mode, gap_s=gap_s)
    rule = f"within {REGISTER_S:g} s the plugin is registered again, and its list has come"
    link = plugin.link(after=first, what=rule, deadline_s=REGISTER_S)
    # It may register once more, at another sign of the same restart, and with another socket.
    plugin.until(
        lambda: plugin.socket.path.rpartition("/")[2] in plugin.sockets(), "its socket is there"
    )
    return link
