"""DEL of a plugin that runs another: what failed there is tried again."""

from __future__ import annotations

from conformance.cni.needs import DELEGATES, INTERFACE, V0_4
from conformance.cni.plugins.delegates import Delegate
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, should, together
from refimpl.cni.contract import Verb

_FAILURE = {"error": {"code": 111, "msg": "told to fail"}}
_SUCCESS = {"stdout": "", "status": 0}


@case("CNI-PLG-129", "CNI 1.1 Delegated Plugin protocol", needs=[INTERFACE, DELEGATES, V0_4])
def test_delete_asks_the_delegate_again_after_it_failed(plugin: PluginUnderTest) -> None:
    """The first DEL took the interface away, and only the delegate's part is left to do: whoever
    takes the missing interface for a sign that all is done keeps the address for ever.
    """
    ipam = Delegate(plugin)
    pod = plugin.pod()
    if plugin.attaches:
        plugin.added(pod, ipam.config())
    pod.config = ipam.config()
    ipam.answer(DEL=[_FAILURE, _SUCCESS])
    first = plugin.delete(pod)
    calls = len(ipam.calls(Verb.DEL))
    second = plugin.delete(pod)
    again = len(ipam.calls(Verb.DEL)) - calls
    rule = "a DEL whose delegate fails"
    with together() as check:
        with check:
            expect(
                again or not second.ok,
                f"{rule} is completed by the next one, which asks the delegate again",
                wanted="another call of the delegate",
                got=f"{second.brief()} without one",
            )
        with check:
            should(not first.ok, f"{rule} fails", wanted="a failure", got=first.brief())
        with check:
            should(
                second.ok,
                f"{rule} succeeds at last",
                wanted="exit 0 at the second",
                got=second.brief(),
            )
