"""What a runtime makes of the results that plugins print, and what it hands on."""

from __future__ import annotations

from typing import Any

from conformance.cni.runtimes.checks import differences, undone
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import pod_session, result_of
from conformance.engine.case import case
from conformance.engine.verdict import expect, together

SPEC = "CNI 1.1 ADD"


@case("CNI-RT-012", SPEC, alone=True)
def test_each_plugin_gets_the_whole_result_of_the_one_before(runtime: RuntimeUnderTest) -> None:
    """A member that the runtime does not know is a word between plugins; lost on the way, the
    second cannot do what the first made ready.
    """
    first, *rest = pod_session(runtime).adds
    expect(first.previous is None, "the first has none", wanted="none", got=first.previous)
    before = first
    for call in rest:
        wrong = differences(call.previous or {}, before.answer)
        if runtime.practice:
            wrong = [line for line in wrong if "refimpl" not in line and line != "/dns is new"]
        expect(
            not wrong,
            f"{call.plugin} gets the result of {before.plugin} with all its members",
            wanted=before.answer,
            got="; ".join(wrong),
        )
        before = call


@case("CNI-RT-013", "practice: libcni", alone=True)
def test_a_result_without_a_version_is_of_the_configurations(runtime: RuntimeUnderTest) -> None:
    """Plugins have forgotten it for years (seen in the field: cni#895)."""
    result = result_of()
    del result["cniVersion"]
    runtime.tell("a", ADD={"result": result})
    runtime.use("a", "b")
    refusal = runtime.attempt()
    rule = "a result without cniVersion is read as one of the configuration's version"
    expect(not refusal, rule, wanted="the pod runs", got=refusal)
    sent = [call.previous for call in runtime.calls("b ADD")]
    fits = sent and sent[0] and sent[0].get("cniVersion") in (None, "1.0.0")
    expect(fits, rule, wanted="prevResult of 1.0.0 for the next plugin", got=sent)


@case("CNI-RT-014", SPEC, alone=True)
def test_a_result_of_another_version_is_converted_or_refused(runtime: RuntimeUnderTest) -> None:
    """The next plugin was told 1.0.0 and need not know any other."""
    result = result_of("0.4.0")
    result["ips"][0]["version"] = "4"
    runtime.tell("a", ADD={"result": result})
    runtime.use("a", "b")
    pod = runtime.pod()
    if runtime.attempt(pod):
        owed = undone(runtime, pod)
        expect(not owed, "a refused result is followed by DEL", wanted="DEL of all", got=owed)
        return
    sent: Any = runtime.calls("b ADD")[0].previous or {}
    odd = [ip for ip in sent.get("ips", ()) if "version" in ip]
    expect(
        sent.get("cniVersion") == "1.0.0" and not odd,
        "a result of 0.4.0 in a network of 1.0.0 is converted for the next plugin",
        wanted="prevResult of 1.0.0",
        got=sent,
    )


@case("CNI-RT-020", SPEC, alone=True)
def test_a_result_that_gives_the_pod_no_address_is_dealt_with(runtime: RuntimeUnderTest) -> None:
    """A plugin of the second layer has none to give. Some runtimes run such a pod, others refuse
    it; none may leave it in between.
    """
    rule, wanted = "a result without an address is taken, or refused with DEL", "one of the two"
    with together() as check:
        other, none = result_of(), result_of()
        other["interfaces"][0]["name"] = "net1"
        del none["ips"]
        for name, result in (("no interface of that name", other), ("no address", none)):
            runtime.tell("a", ADD={"result": result})
            runtime.use("a")
            pod, place = runtime.pod(), runtime.seen()
            runtime.attempt(pod)
            check.found(f"{rule}: {name}", wanted, undone(runtime, pod, place))
            check.found(
                f"{rule}: {name}",
                wanted,
                "" if runtime.subject.alive() else "the runtime died of it",
            )
