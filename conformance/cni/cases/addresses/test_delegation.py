"""Addresses from another plugin: how it is found and asked, and what becomes of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from conformance.cni.needs import DELEGATES, INTERFACE, MAKES_LINK, NETNS, V0_4, V1_0
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.delegates import RECORDER, Delegate, DelegateCall
from conformance.cni.plugins.failures import ended
from conformance.cni.plugins.outcomes import result_of
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.results import decoded
from conformance.cni.plugins.subject import directories
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni import contract
from refimpl.cni.contract import Address, Result, Route, Verb
from refimpl.cni.execute import Outcome, Request
from refimpl.documents import json as documents

_NEEDS = (INTERFACE, NETNS, DELEGATES)
_PROTOCOL = "CNI 1.1 Delegated Plugin protocol"
_PROCEDURE = "CNI 1.1 Delegated plugin execution procedure"
_CODE = 111
_ERROR = {"error": {"code": _CODE, "msg": "told to fail"}}


def _free(plugin: PluginUnderTest) -> Address:
    """An address that fits the network: one that the configured IPAM plugin gave, and got back."""
    pod = plugin.pod()
    given = decoded(plugin.added(pod), plugin.newest).ips
    plugin.delete(pod)
    expect(given, "ADD with IPAM gives an address", wanted="ips", got=pod.result)
    return attrs.evolve(given[0], interface=None)


def _answer(version: str, given: Address, *routes: Route) -> dict[str, Any]:
    """An IPAM plugin's answer to ADD in a version."""
    return {"result": contract.encode(Result(version, ips=(given,), routes=routes))}


# Failures of the delegate


@attrs.frozen
class _Trouble:
    """A delegate that is no use. code: the one its failure has, 0 where it tells none."""

    name: str
    answers: Mapping[str, Any] = attrs.field(factory=dict)
    faults: Sequence[dict[str, Any]] = ()
    code: int = 0
    missing: bool = False


_TROUBLES = (
    _Trouble("is missing", missing=True),
    _Trouble("fails", {"ADD": _ERROR}, code=_CODE),
    _Trouble(
        "fails after a while",
        {"ADD": _ERROR},
        [{"verb": "ADD", "do": "hang", "seconds": 0.2}],
        code=_CODE,
    ),
    _Trouble("prints junk", {"ADD": {"stdout": "junk"}}),
    _Trouble("gives no address", {"ADD": {"stdout": "{}"}}),
    _Trouble("is killed", {}, [{"verb": "ADD", "do": "signal", "number": 9}]),
)


@case("CNI-PLG-054", _PROCEDURE, needs=[*_NEEDS, V0_4])
def test_a_delegate_that_is_no_use_fails_the_add(plugin: PluginUnderTest) -> None:
    """A pod without an address looks like one that runs; what a delegate took before it failed is
    freed by a DEL at once or never.
    """
    with together() as check:
        for number, trouble in enumerate(_TROUBLES):
            ipam = Delegate(
                plugin,
                trouble.answers,
                faults=list(trouble.faults),
                name=f"{RECORDER}-{number}",
            )
            config = ipam.config()
            if trouble.missing:
                config = plugin.config(ipam=plugin.ipam(type="refimpl-missing"))
            outcome = plugin.add(plugin.pod(), config)
            with check:
                _failed(outcome, trouble)
            if not trouble.missing:
                with check:
                    verbs = [each.verb for each in ipam.calls("ADD", "DEL")]
                    rule = (
                        f"a delegate that {trouble.name} on ADD gets a DEL before the plugin ends"
                    )
                    expect(verbs[-1:] == ["DEL"], rule, wanted="ADD, then DEL", got=verbs)


def _failed(outcome: Outcome, trouble: _Trouble) -> None:
    rule = f"ADD fails when the delegate {trouble.name}"
    expect(not outcome.ok, rule, wanted="a failure", got=outcome.brief())
    if trouble.code:
        error = outcome.error
        expect(
            error and error.code == trouble.code,
            f"ADD fails with the code of a delegate that {trouble.name}",
            wanted=f"code {trouble.code}",
            got=outcome.brief(),
        )


@case("CNI-PLG-059", _PROCEDURE, needs=[*_NEEDS, MAKES_LINK, V0_4])
def test_an_add_that_fails_after_ipam_gives_the_address_back(plugin: PluginUnderTest) -> None:
    """The pod is tried again under another name; each try would cost an address of the node."""
    ipam = Delegate(plugin)
    pod = plugin.pod()
    plugin.host.add_link(pod.netns, pod.ifname)
    with together() as check:
        with check:
            _gives_back(plugin, pod, ipam, "meets an interface of the name")
        plugin.host.delete_link(pod.netns, pod.ifname)
        with check:
            _works_again(plugin, pod, ipam, "met an interface of the name")

        # The next hop is in no network of the pod: no kernel takes the route.
        stray = Route("198.51.100.0/24", gw="203.0.113.1")
        ipam.answer(ADD=_answer(plugin.newest, _free(plugin), stray))
        pod = plugin.pod()
        with check:
            _gives_back(plugin, pod, ipam, "cannot make a route")
        ipam.answer()
        with check:
            _works_again(plugin, pod, ipam, "could not make a route")


def _gives_back(plugin: PluginUnderTest, pod: CniAttachment, ipam: Delegate, trouble: str) -> None:
    """ADD that fails, or copes: then there is nothing to give back."""
    outcome = plugin.add(pod, ipam.config())
    verbs = [each.verb for each in ipam.calls("ADD", "DEL")]
    rule = f"an ADD that {trouble} has the delegate take the address back"
    kept = not outcome.ok and verbs[-1:] == ["ADD"]
    expect(not kept, rule, wanted="no ADD, or a DEL behind it", got=verbs)


def _works_again(plugin: PluginUnderTest, pod: CniAttachment, ipam: Delegate, trouble: str) -> None:
    """How DEL ends is the concern of other requirements."""
    plugin.delete(pod, ipam.config())
    rule = f"ADD succeeds after the DEL of one that {trouble}"
    result_of(plugin.add(pod, ipam.config()), rule)
    plugin.delete(pod, ipam.config())


# What the delegate gets


@case("CNI-PLG-055", _PROTOCOL, needs=_NEEDS)
def test_a_delegate_gets_the_request_as_it_came(plugin: PluginUnderTest) -> None:
    """IPAM plugins read members that the interface plugin knows nothing of, and find the
    attachment again by what they got at ADD.
    """
    ipam = Delegate(plugin)
    pod = plugin.pod(args="IgnoreUnknown=1;K8S_POD_NAME=web-0")
    note = {"deep": [{"n": 9007199254740993, "<&>": "\N{SNOWMAN}"}]}
    config = ipam.config(args={"acme.example": note})
    verbs = [Verb.ADD, Verb.DEL]
    if contract.at_least(plugin.newest, "0.4.0"):
        verbs.insert(1, Verb.CHECK)
    plugin.added(pod, config)
    with together() as check:
        for verb in verbs:
            request = plugin.request(verb, pod, config)
            if verb != Verb.ADD:
                plugin.run(request)
            with check:
                calls = ipam.calls(verb)
                expect(
                    calls,
                    f"{verb} runs the delegate",
                    wanted=f"a call with {verb}",
                    got=ipam.calls(),
                )
                _same_request(verb, request, calls[0])


def _same_request(verb: str, request: Request, call: DelegateCall) -> None:
    odd = {
        name: call.env.get(name)
        for name, value in request.env.items()
        if call.env.get(name) != value
    }
    with together() as check:
        rule = f"on {verb} the delegate has the variables of the plugin"
        with check:
            expect(not odd, rule, wanted={name: request.env[name] for name in odd}, got=odd)
        wanted = documents.parse(request.stdin).value
        same = call.stdin == request.stdin or call.document == wanted
        rule = f"on {verb} the delegate has the whole document that the plugin got"
        with check:
            expect(same, rule, wanted=request.stdin, got=call.stdin)


@case("CNI-PLG-056", _PROCEDURE, needs=[*_NEEDS, V1_0])
def test_a_delegates_stderr_is_passed_on(plugin: PluginUnderTest) -> None:
    """What the delegate says there is all that an operator ever learns of its troubles."""
    message = "refimpl: the delegate says so"
    answer = {**_answer(plugin.newest, _free(plugin)), "stderr": f"{message}\n"}
    ipam = Delegate(plugin, {"ADD": answer})
    outcome = plugin.add(plugin.pod(), ipam.config())
    with together() as check:
        with check:
            result_of(outcome, "ADD succeeds although the delegate writes to stderr")
        rule = "what the delegate writes to stderr comes out of the plugin's"
        with check:
            expect(message.encode() in outcome.stderr, rule, wanted=message, got=outcome.brief())


@case("CNI-PLG-057", "CNI 1.1 Parameters, CNI_PATH", needs=_NEEDS)
def test_a_delegate_is_the_first_of_its_name_in_cni_path(plugin: PluginUnderTest) -> None:
    """Operators put a fixed plugin into a directory in front; the old one must not be run."""
    first = Delegate(plugin, place="first", searched=False)
    second = Delegate(plugin, place="second", searched=False)
    none = plugin.folder / "none"
    with together() as check:
        for wanted, other in ((first, second), (second, first)):
            plugin.cni_path = directories(
                str(none), str(wanted.folder), str(other.folder), plugin.subject.cni_path
            )
            pod = plugin.pod()
            before = len(other.calls()), len(wanted.calls())
            plugin.added(pod, wanted.config())
            plugin.deleted(pod, wanted.config())
            verbs = len(other.calls()) - before[0], len(wanted.calls()) - before[1]
            rule = "a delegate is the first file of its name in the directories of CNI_PATH"
            with check:
                expect(
                    verbs[0] == 0 < verbs[1], rule, wanted="that one run only", got=_counts(*verbs)
                )


def _counts(later: int, first: int) -> str:
    return f"{first} calls of the first, {later} calls of the one behind it"


@case("CNI-PLG-058", "CNI 1.1 Delegated plugins (IPAM)", needs=[*_NEEDS, V0_4])
def test_an_older_answer_of_a_delegate_is_converted_or_refused(plugin: PluginUnderTest) -> None:
    """IPAM plugins live longer than the network's version; half-read answers lose addresses."""
    free = _free(plugin)
    with together() as check:
        for version in contract.VERSIONS[: contract.VERSIONS.index(plugin.newest)]:
            ipam = Delegate(plugin, {"ADD": _answer(version, free)})
            pod = plugin.pod()
            outcome = plugin.add(pod, ipam.config())
            plugin.delete(pod)
            rule = f"a delegate's answer of {version} in a network of {plugin.newest}"
            with check:
                ended(outcome, f"{rule} is converted or refused cleanly")
            if outcome.ok:
                with check:
                    _converted(plugin, outcome, free, rule)


def _converted(plugin: PluginUnderTest, outcome: Outcome, free: Address, rule: str) -> None:
    """Raises Broken unless the result is one of the plugin's version, with the address."""
    result = result_of(outcome, f"{rule} gives a result")
    wrong = [str(each) for each in contract.problems(result, plugin.newest)]
    given = [each.address for each in decoded(result, plugin.newest).ips]
    with together() as check:
        with check:
            whole = f"{rule} becomes a result of {plugin.newest}"
            expect(not wrong, whole, wanted=f"a result of {plugin.newest}", got=wrong)
        with check:
            whole = f"{rule} keeps its address"
            expect(free.address in given, whole, wanted=free.address, got=given)
