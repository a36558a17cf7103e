"""GC and STATUS of a plugin that delegates: the delegate is asked, its failure is told."""

from __future__ import annotations

import pytest

from conformance.cni.needs import DELEGATES, INTERFACE, NETNS, V1_1
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.delegates import Delegate
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, should, together
from refimpl.cni.contract import Verb
from refimpl.documents import json as documents


def _unavailable(code: int) -> dict[str, object]:
    return {"error": {"code": code, "msg": "told to be unavailable"}}


@case("CNI-PLG-100", "CNI 1.1 GC", needs=[INTERFACE, DELEGATES, V1_1])
def test_gc_is_forwarded_to_the_delegate(plugin: PluginUnderTest) -> None:
    """Addresses of pods that vanished are the delegate's to free; nobody else asks it."""
    ipam = Delegate(plugin)
    kept = CniAttachment(f"{plugin.network}-kept", "", plugin.subject.ifname)
    request = plugin.request(Verb.GC, None, ipam.config(), valid=[kept])
    with together() as check:
        with check:
            succeeded(plugin.run(request), "GC with a healthy delegate succeeds")
        calls = ipam.calls(Verb.GC)
        expect(calls, "GC is forwarded to the delegate", wanted="a call with GC", got=ipam.calls())
        with check:
            same = calls[0].document == documents.parse(request.stdin).value
            rule = "GC gives the delegate the whole document, the valid attachments in it"
            expect(same, rule, wanted=request.stdin, got=calls[0].stdin)
        with check:
            should(len(calls) == 1, "GC asks the delegate once", wanted=1, got=len(calls))


@case("CNI-PLG-106", "CNI 1.1 STATUS", needs=[INTERFACE, DELEGATES, V1_1])
def test_status_fails_when_the_delegates_does(plugin: PluginUnderTest) -> None:
    """Code 51 says that running pods suffer too: an operator acts on it other than on 50."""
    ipam = Delegate(plugin, {"STATUS": _unavailable(51)})
    outcome = plugin.status(ipam.config())
    calls = ipam.calls(Verb.STATUS)
    with together() as check:
        with check:
            expect(calls, "STATUS asks the delegate", wanted="a call with STATUS", got=ipam.calls())
        rule = "STATUS fails when that of the delegate does"
        with check:
            should(not outcome.ok, rule, wanted="a failure", got=outcome.brief())
        code = outcome.error.code if outcome.error else None
        rule = "STATUS fails with the code of the delegate"
        with check:
            should(outcome.ok or code == 51, rule, wanted="code 51", got=outcome.brief())


@case("CNI-PLG-107", "CNI 1.1 STATUS", needs=[INTERFACE, NETNS, V1_1])
def test_status_succeeds_without_ipam(plugin: PluginUnderTest) -> None:
    """A network without addresses has no delegate whose answer could be missing.

    A plugin whose ADD cannot do without addresses is not ready for such a network.
    """
    config = plugin.config(ipam=None)
    pod = plugin.pod()
    able = plugin.add(pod, config)
    plugin.delete(pod)
    if not able.ok:
        pytest.skip(f"{plugin.name} makes no interface without ipam: {able.brief()}")
    rule = "STATUS succeeds without ipam in the configuration, as ADD does"
    succeeded(plugin.status(config), rule)


@case("CNI-PLG-108", "CNI 1.1 STATUS", needs=[INTERFACE, NETNS, DELEGATES, V1_1])
def test_add_and_delete_do_not_ask_for_the_status(plugin: PluginUnderTest) -> None:
    """STATUS may be wrong, or old; a runtime may go on all the same, and has to be able to DEL."""
    ipam = Delegate(plugin, {"STATUS": _unavailable(50)})
    pod = plugin.attached()
    plugin.status(ipam.config())
    rule = "DEL of an older attachment is attempted although STATUS fails"
    with together() as check:
        with check:
            succeeded(plugin.delete(pod), rule)
        pod = plugin.pod()
        with check:
            succeeded(plugin.add(pod, ipam.config()), "ADD is attempted although STATUS fails")
        with check:
            succeeded(plugin.delete(pod), "DEL is attempted although STATUS fails")
