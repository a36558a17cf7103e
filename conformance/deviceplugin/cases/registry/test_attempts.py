"""Attempts to register a plugin that fail, and what comes after them (REG)."""

from __future__ import annotations

import contextlib

from conformance.deviceplugin.registry import (
    INFO,
    NOTIFY,
    OPTIONS,
    SOON_S,
    Deaf,
    attempted,
    mended,
    refused,
    unhurried,
)
from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect
from conformance.kubelet.node import NodeUnderTest
from refimpl.wire.status import Code

SOURCE = "kubelet: plugin watcher, deadlines and retries"
WATCHES = Feature("watcher")


@case("REG-006", SOURCE, needs=[WATCHES])
def test_a_plugin_that_takes_too_long_to_say_who_it_is_is_asked_again(node: NodeUnderTest) -> None:
    """One that hangs must not hold up the registration of others; one that was busy gets in."""
    plugin = node.plugin(watched=True)
    plugin.slow[INFO] = 1.1
    plugin.send("a")
    plugin.serve()
    node.until(lambda: plugin.given_up or plugin.registration.notified, "GetInfo is over")
    expect(
        plugin.given_up and not plugin.calls(OPTIONS),
        "GetInfo has one second",
        wanted="an attempt that fails",
        got="an answer after 1.1 s was waited for",
    )
    attempted(node, plugin, 2)
    plugin.slow.clear()
    mended(node, plugin)


@case("REG-007", SOURCE, needs=[WATCHES])
def test_a_plugin_that_cannot_say_who_it_is_is_asked_again_with_pauses(node: NodeUnderTest) -> None:
    """A socket of another service in this folder must neither burn the CPU nor be lost for good."""
    plugin = node.plugin(watched=True)
    plugin.refused[INFO] = Code.UNIMPLEMENTED
    plugin.serve()
    attempted(node, plugin, 1)
    unhurried(node, plugin)
    attempted(node, plugin, 3)
    del plugin.refused[INFO]
    mended(node, plugin)


@case("REG-008", SOURCE, needs=[WATCHES])
def test_a_socket_that_nobody_listens_at_is_tried_again_and_holds_up_nobody(
    node: NodeUnderTest,
) -> None:
    """A process that was killed leaves its socket; the drivers of others must come up all the
    same."""
    stale = Deaf(node.registry / "stale.sock")
    with contextlib.closing(stale):
        other = node.plugin(watched=True)
        other.serve()
        node.until(
            lambda: other.registration.registered, "another plugin is registered meanwhile", SOON_S
        )
        stale.listen()

        def called() -> bool:
            node.hasten(SOON_S)
            return stale.called()

        node.until(called, "once somebody listens at the socket, the client comes again")


@case("REG-016", "kubelet 1.37: a notification that fails", needs=[WATCHES])
def test_a_plugin_that_cannot_be_told_of_its_success_is_taken_out_and_tried_again(
    node: NodeUnderTest,
) -> None:
    """Its devices come and go until it answers: a plugin that refuses the notification flaps."""
    plugin = node.plugin(watched=True)
    plugin.held.add(NOTIFY)
    plugin.refused[NOTIFY] = Code.UNKNOWN
    plugin.send("a")
    plugin.serve()
    node.until(
        lambda: node.podresources.allocatable(plugin.resource) == {"a"}, "the plugin is taken in"
    )
    plugin.release()
    node.until(
        lambda: not node.podresources.allocatable(plugin.resource),
        "a notification that fails takes it out",
    )
    attempted(node, plugin, 2)
    del plugin.refused[NOTIFY]
    mended(node, plugin)
    node.until(lambda: node.podresources.allocatable(plugin.resource) == {"a"}, "and then it stays")


@case("REG-017", SOURCE, needs=[WATCHES])
def test_a_plugin_that_does_not_answer_its_notification_is_not_waited_for(
    node: NodeUnderTest,
) -> None:
    """What hangs here would hang with each of the plugins that do the same."""
    plugin = node.plugin(watched=True)
    plugin.slow[NOTIFY] = 5.5
    plugin.serve()
    node.until(
        lambda: NOTIFY in plugin.given_up or plugin.registration.notified,
        "the notification ends",
        2 * SOON_S,
    )
    expect(
        NOTIFY in plugin.given_up,
        "NotifyRegistrationStatus has five seconds",
        wanted="a call that ends by itself",
        got="an answer after 5.5 s was waited for",
    )


@case("REG-033", SOURCE, needs=[WATCHES])
def test_a_plugin_whose_service_fails_is_told_why_and_tried_again_with_pauses(
    node: NodeUnderTest,
) -> None:
    """A driver that needs its hardware first comes in when it has it, without being restarted."""
    plugin = node.plugin(watched=True)
    plugin.refused[OPTIONS] = Code.INTERNAL
    plugin.send("a")
    plugin.serve()
    refused(node, plugin, "its options cannot be had")
    unhurried(node, plugin)
    attempted(node, plugin, 3)
    del plugin.refused[OPTIONS]
    mended(node, plugin)
