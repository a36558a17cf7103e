"""How a plugin registers: when, as what, and where it can be reached meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from conformance.deviceplugin.plugins.needs import PUSHES
from conformance.deviceplugin.plugins.plugin import REGISTER_S, DevicePluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.names import check_resource
from refimpl.wire.status import Refused

ANSWER_S = 1.0
"""How soon a plugin that registers has to be there, and to answer GetDevicePluginOptions."""

RETRY_S = 60.0
"""How long a plugin may pause before it registers again."""

MANY_CALLS = 10
"""Calls of Register within 10 s that are a tight loop."""

TOGETHER = 8
"""Calls at a time."""


@case("DP-PLG-001", "device plugin v1beta1, Register", needs=[PUSHES])
def test_a_plugin_registers_with_a_kubelet_that_is_there(plugin: DevicePluginUnderTest) -> None:
    """The node has none of its devices before that, and pods that want them wait."""
    plugin.arrival(deadline_s=REGISTER_S)


@case("DP-PLG-002", "device plugin v1beta1, RegisterRequest.version", needs=[PUSHES])
def test_the_version_is_v1beta1(plugin: DevicePluginUnderTest) -> None:
    """Kubelet compares the texts, and refuses whatever else is sent."""
    version = plugin.arrival().request.version
    expect(version == "v1beta1", "version is v1beta1", wanted="v1beta1", got=repr(version))


@case("DP-PLG-003", "device plugin v1beta1, RegisterRequest.resource_name", needs=[PUSHES])
def test_the_resource_has_the_name_of_an_extended_resource(plugin: DevicePluginUnderTest) -> None:
    """Another name is refused, or could not be written into a pod."""
    name = plugin.arrival().request.resource_name
    try:
        check_resource(name)
    except Refused as refused:
        rule = "resource_name is vendor-domain/name"
        raise Broken(rule, "a name that kubelet takes", refused.message) from None


@case("DP-PLG-004", "device plugin v1beta1, RegisterRequest.endpoint", needs=[PUSHES])
def test_the_endpoint_is_the_name_of_a_socket_in_the_directory(
    plugin: DevicePluginUnderTest,
) -> None:
    """Kubelet puts its own directory in front of it: a path ends up elsewhere."""
    plugin.arrival()
    name = plugin.arrivals()[-1].request.endpoint
    bare = "/" not in name and name not in ("", ".", "..")
    expect(bare, "endpoint is a bare file name", wanted="a name without /", got=repr(name))
    there = plugin.sockets()
    expect(
        name in there, "endpoint is a socket in device-plugins", wanted=repr(name), got=repr(there)
    )


@case("DP-PLG-005", "Kubernetes 1.37 kubelet, Register", needs=[PUSHES])
def test_a_plugin_serves_before_its_register_is_answered(plugin: DevicePluginUnderTest) -> None:
    """Kubelet dials back inside Register: who serves afterwards, or has one thread for both, waits
    for kubelet while kubelet waits for him."""
    problems: list[str] = []
    with plugin.at_arrival(
        lambda arrival: problems.append(plugin.calls.problem_at(lambda: arrival.socket, ANSWER_S))
    ):
        plugin.fresh()
        plugin.until(lambda: problems, "the plugin calls Register")
    expect(
        not problems[0],
        "while Register is open, GetDevicePluginOptions is answered",
        wanted=f"an answer within {ANSWER_S:g} s",
        got=problems[0],
    )


@case("DP-PLG-006", "device plugin v1beta1, RegisterRequest.options", needs=[PUSHES])
def test_register_and_the_plugin_itself_say_the_same_options(plugin: DevicePluginUnderTest) -> None:
    """Kubelets up to 1.24 believe the one, later ones the other: with the wrong one containers
    start on devices that nobody has prepared."""
    plugin.link()
    sent, answered = plugin.arrivals()[-1].request.options, plugin.calls.options()
    expect(
        sent == answered,
        "RegisterRequest.options are those of GetDevicePluginOptions",
        wanted=answered,
        got=sent,
    )


@case("DP-PLG-007", "device plugin v1beta1, GetDevicePluginOptions")
def test_the_options_are_the_same_each_time(plugin: DevicePluginUnderTest) -> None:
    """Kubelet asks at every registration, and several kubelets' worth of calls may be under way."""
    first, second = plugin.calls.options(), plugin.calls.options()
    stub = plugin.calls.stub
    with ThreadPoolExecutor(TOGETHER) as pool:
        calls = [pool.submit(stub.GetDevicePluginOptions, pb.Empty()) for _ in range(TOGETHER)]
        answers = [second, *(each.result() for each in calls)]
    other = next((answer for answer in answers if answer != first), None)
    expect(other is None, "the options do not change", wanted=first, got=other)


@case("DP-PLG-008", "robustness: no kubelet yet", needs=[PUSHES])
def test_a_plugin_waits_for_a_kubelet_that_is_not_there_yet(plugin: DevicePluginUnderTest) -> None:
    """Nodes start their pods and their kubelet in any order, and kubelet takes its time.

    The row lets a minute pass before kubelet comes; a second or two show the same.
    """
    plugin.cleared()
    plugin.may_exit()
    plugin.start_again()
    plugin.stays(plugin.process.alive, "without a kubelet the plugin waits")
    plugin.kubelet.start()
    plugin.arrival(deadline_s=REGISTER_S)


@case("DP-PLG-009", "device plugin v1beta1, Register refused", needs=[PUSHES])
def test_a_refused_plugin_pauses_before_it_tries_again_or_exits(
    plugin: DevicePluginUnderTest,
) -> None:
    """A tight loop takes a core from every node until somebody notices; one that gives up in
    silence looks healthy and has no devices."""
    with plugin.kubelet.refusing("version v1beta1 is not supported"):
        plugin.fresh()
        plugin.may_exit()
        plugin.arrival()
        plugin.stays(
            lambda: len(plugin.arrivals()) < MANY_CALLS, f"fewer than {MANY_CALLS} calls in 10 s"
        )
        plugin.until(
            lambda: len(plugin.arrivals()) > 1 or not plugin.process.alive(),
            "after a refusal the plugin tries again, or exits",
            RETRY_S,
        )
    status = plugin.process.status()
    expect(status != 0, "a plugin that gives up exits with a status", wanted="not 0", got=status)


@case("DP-PLG-010", "robustness: Register is not answered", needs=[PUSHES])
def test_a_plugin_whose_register_hangs_answers_all_the_same(plugin: DevicePluginUnderTest) -> None:
    """Kubelet answers Register after its own calls; a plugin that only waits is deadlocked."""
    with plugin.kubelet.hanging():
        plugin.fresh()
        first = plugin.arrival()
        problem = plugin.calls.problem_at(lambda: plugin.arrivals()[-1].socket, ANSWER_S)
        expect(
            not problem or len(plugin.arrivals()) > first.number,
            "while Register hangs, the plugin answers or tries again",
            wanted=f"an answer within {ANSWER_S:g} s",
            got=problem,
        )
    plugin.link(what="once kubelet answers, the plugin is registered")


@case("DP-PLG-011", "robustness: kubelet ends during Register", needs=[PUSHES])
def test_a_plugin_registers_again_when_the_connection_breaks(plugin: DevicePluginUnderTest) -> None:
    """Kubelet may end at any moment; nobody else knows that the call was lost."""
    with plugin.kubelet.hanging_up(times=1):
        plugin.fresh()
        plugin.arrival()
        plugin.arrival(2, RETRY_S)
    plugin.link()


@case("DP-PLG-012", "Kubernetes up to 1.24, DEPRECATION", needs=[PUSHES])
def test_the_file_of_old_kubelets_does_no_harm(plugin: DevicePluginUnderTest) -> None:
    """Plugins made from the sample do not call Register where it lies; nobody may crash on it."""
    plugin.cleared()
    plugin.kubelet.deprecate()
    plugin.kubelet.start()
    plugin.start_again()
    plugin.stays(plugin.process.alive, "with a DEPRECATION file the plugin runs")
