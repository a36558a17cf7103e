"""How a client takes in the plugins that call Register (DP-KUB)."""

from __future__ import annotations

import math
import threading

from conformance.deviceplugin.attempts import Attempt, refusal
from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.wire.status import Code

DIAL_S = 10.0
"""How long kubelet dials a plugin."""
ASK, WATCH = "GetDevicePluginOptions", "ListAndWatch"


@case("DP-KUB-001", "device plugin API v1beta1: registration")
def test_a_plugin_is_asked_for_its_options_and_then_watched_once(node: NodeUnderTest) -> None:
    """Options come first because they say how to allocate; a second stream would have a plugin
    send every change twice."""
    plugin = node.plugin().serve()
    plugin.send("a")
    plugin.register(node.plugins)
    node.until(lambda: WATCH in plugin.order, "the client asks for the list of devices")
    node.stays(
        lambda: plugin.order == [ASK, WATCH],
        "after Register come the options, and then one ListAndWatch",
        wanted=f"{ASK}, {WATCH} and nothing more",
    )


@case("DP-KUB-002", "kubelet: checks of Register")
def test_a_strange_version_is_refused_with_the_versions_named(node: NodeUnderTest) -> None:
    """The error is all that the author of a plugin for another API version gets to see."""
    plugin = node.plugin().serve()
    with together() as check:
        for version in ("v1alpha1", "", "V1beta1"):
            with check:
                error = refusal(node, plugin, "only v1beta1 is a version", version=version)
                expect(
                    version in error.message and "v1beta1" in error.message,
                    "the error names the version that came and the one that there is",
                    wanted=f"{version!r} and v1beta1 in the text",
                    got=error,
                )


@case("DP-KUB-003", "kubelet: checks of Register")
def test_a_name_that_is_no_extended_resource_is_refused(node: NodeUnderTest) -> None:
    """A resource of such a name could take the place of CPU and memory, or be none that a pod may
    ask for."""
    plugin = node.plugin().serve()
    native = ("cpu", "foo", "kubernetes.io/x", "a.kubernetes.io/x", "requests.x/y")
    malformed = ("-a/b", "A.b/c", "a/b/c", f"a.b/{'c' * 64}", f"{_domain(245)}/b")
    with together() as check:
        for name in (*native, *malformed):
            with check:
                refusal(node, plugin, f"{name} is no extended resource", resource_name=name)


@case("DP-KUB-004", "kubelet: checks of Register")
def test_every_good_name_is_accepted(node: NodeUnderTest) -> None:
    """The longest ones, capitals and underscores behind the slash included: vendors have them."""
    unusual = ("a/b", "smarter-devices/net_tun", "x.io/GPU.v1")
    with together() as check:
        for name in (*unusual, f"a.b/{'c' * 63}", f"{_domain(244)}/b"):
            with check:
                node.join(node.plugin(name), "a")


@case("DP-KUB-005", "kubelet: dial of a plugin", needs=[Feature("capacity")])
def test_a_plugin_that_does_not_listen_hears_so_within_the_time_of_a_dial(
    node: NodeUnderTest,
) -> None:
    """One that calls Register before it serves has to learn that it must try again. The ten
    seconds pass on the clock of a client that has one to be set."""
    plugin = node.plugin()
    what = "a plugin that nobody can reach is refused"
    error = Attempt(node, plugin).outcome(1.5 * DIAL_S, what)
    with together() as check:
        with check:
            expect(error, what, wanted="an error", got="success")
        with check:
            node.stays(
                lambda: node.counts(plugin.resource) is None,
                "a resource whose plugin was refused is not there",
                wanted="no such resource",
            )


@case("DP-KUB-006", "kubelet: place of a plugin's socket")
def test_the_endpoint_is_a_path_below_the_folder_that_is_not_checked(node: NodeUnderTest) -> None:
    """A file name is meant. What kubelet joins to its folder unseen still has to lead somewhere,
    or to an error: for an empty endpoint after the time of a dial, which a client with a clock does
    not wait for."""
    with together() as check:
        for endpoint in ("../x.sock", "sub/x.sock", "/abs/x.sock"):
            with check:
                plugin = node.plugin()
                path = node.plugins / endpoint.removeprefix("/")
                path.parent.mkdir(exist_ok=True)
                plugin.serve(path)
                plugin.send("a")
                plugin.register(node.plugins, endpoint=endpoint)
                node.until(
                    lambda: node.podresources.allocatable(plugin.resource),  # noqa: B023
                    f"{endpoint} leads to its plugin",
                )
        what = "the folder itself is no plugin"
        error = Attempt(node, node.plugin(), endpoint="").outcome(1.5 * DIAL_S, what)
        with check:
            expect(error, what, wanted="an error", got="success")


@case("DP-KUB-007", "kubelet: options of a plugin")
def test_a_plugin_whose_options_fail_is_refused_and_hung_up_on(node: NodeUnderTest) -> None:
    """It tries again and again; a client that keeps each connection runs out of descriptors
    (kubernetes 124716)."""
    plugin = node.plugin().serve(freezable=True)
    plugin.refused[ASK] = Code.INTERNAL
    refusal(node, plugin, "a plugin that cannot tell its options is refused")
    with together() as check:
        with check:
            node.until(lambda: not plugin.connections, "the connection to it is closed", 5)
        with check:
            expect(
                WATCH not in plugin.order,
                "a plugin that was refused is not asked for devices",
                wanted="no ListAndWatch",
                got=plugin.order,
            )


@case("DP-KUB-008", "robustness: a plugin that does not answer")
def test_a_plugin_that_hangs_does_not_hold_up_its_registration_for_ever(
    node: NodeUnderTest,
) -> None:
    """kubelet waits as long as it takes. A deadline on the call is enough, and seen at once; a
    client without one has fifteen seconds to give up by itself."""
    plugin = node.plugin().serve()
    plugin.held.add(ASK)
    attempt = Attempt(node, plugin, timeout=math.inf)
    node.until(lambda: ASK in plugin.order, "the client asks for the options")
    bounded = plugin.deadlines[ASK][0] is not None or attempt.ends(15)
    expect(
        bounded,
        "the call for the options ends by itself",
        wanted="a deadline, or an end within 15 s",
        got="no deadline, and no end",
    )


@case("DP-KUB-009", "kubelet: options of a plugin", needs=[Feature("pods")])
def test_options_are_those_that_the_plugin_answers(node: NodeUnderTest) -> None:
    """Since 1.25 those of Register mean nothing; a plugin asked for what it does not serve fails
    its pods."""
    plugin = node.plugin().serve()
    plugin.send("a", "b")
    options = pb.DevicePluginOptions(
        pre_start_required=True, get_preferred_allocation_available=True
    )
    plugin.register(node.plugins, options=options)
    node.until(
        lambda: len(node.podresources.allocatable(plugin.resource)) == 2, "the devices arrive"
    )
    node.pods.running(limits={plugin.resource: 1})
    unwanted = {"GetPreferredAllocation", "PreStartContainer"} & {*plugin.order}
    expect(
        not unwanted,
        "what the plugin's own options do not ask for is not called",
        wanted="Allocate alone",
        got=plugin.order,
    )


@case("DP-KUB-010", "device plugin API v1beta1: ListAndWatch", needs=[Feature("capacity")])
def test_register_does_not_wait_for_the_first_list(node: NodeUnderTest) -> None:
    """Some plugins look for their hardware first; the list may come much later. The five minutes
    pass on the clock of a client that has one, and are a moment for others."""
    plugin = node.plugin().serve()
    plugin.register(node.plugins, timeout=10)
    node.until(lambda: WATCH in plugin.order, "the client asks for the list of devices")
    node.hasten(300)
    with together() as check:
        with check:
            node.stays(
                lambda: node.counts(plugin.resource) in (None, (0, 0)),
                "without a list there is no device",
                wanted="no such resource, or 0/0",
            )
        plugin.send("a")
        with check:
            node.counted(plugin.resource, (1, 1), "the first list is taken in whenever it comes")


@case("DP-KUB-031", "robustness: registrations at the same time")
def test_plugins_that_register_at_the_same_time_are_all_taken_in(node: NodeUnderTest) -> None:
    """After a restart of kubelet all plugins of a node come at once (kubernetes 55884)."""
    plugins = [node.plugin().serve() for _ in range(3)]
    together = threading.Barrier(len(plugins))

    def come(plugin: ScriptedPlugin) -> None:
        plugin.send("a")
        together.wait()
        plugin.register(node.plugins)

    threads = [threading.Thread(target=come, args=(plugin,)) for plugin in plugins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for plugin in plugins:
        node.until(
            lambda: node.podresources.allocatable(plugin.resource) == {"a"},  # noqa: B023
            "each of several plugins that register at once is taken in",
        )


@case("DP-KUB-072", "kubelet: options of a plugin")
def test_the_call_for_options_has_what_is_left_of_registers_deadline(node: NodeUnderTest) -> None:
    """A plugin that gives its own Register up should not go on being asked by it."""
    plugin = node.plugin().serve()
    plugin.held.add(ASK)
    attempt = Attempt(node, plugin, timeout=20)
    node.until(lambda: ASK in plugin.order, "the client asks for the options")
    left = plugin.deadlines[ASK][0]
    plugin.release()
    attempt.outcome(DIAL_S, "Register goes on when the plugin answers")
    expect(
        left is not None and left <= 21,  # gRPC rounds up what it tells the other side
        "the options call has the deadline of the Register that it is made for",
        wanted="at most 20 s",
        got="no deadline" if left is None else f"{left:g} s",
    )


def _domain(length: int) -> str:
    """A domain name of that many characters."""
    return ("x" * 49 + ".") * (length // 50) + "x" * (length % 50)
