"""Which version of the protocol a runtime chooses."""

from __future__ import annotations

from conformance.cni.runtimes.checks import undone
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import result_of
from conformance.engine.case import case
from conformance.engine.verdict import expect, together

SPEC = "CNI 1.1 Network configuration format"


@case("CNI-RT-042", SPEC, alone=True)
def test_the_highest_version_that_both_know_is_chosen(runtime: RuntimeUnderTest) -> None:
    """So a network works with runtimes of several years."""
    runtime.use("a", version="0.4.0", cniVersions=["0.4.0", "1.1.0", "9.0.0"])
    refusal = runtime.attempt()
    adds = runtime.calls("a ADD")
    sent = adds[0].document.get("cniVersion") if adds else refusal
    expect(sent == "1.1.0", "the highest of cniVersions that is known", wanted="1.1.0", got=sent)


@case("CNI-RT-043", SPEC, alone=True)
def test_a_version_that_nobody_knows_is_refused(runtime: RuntimeUnderTest) -> None:
    """What a document of the future means cannot be guessed."""
    runtime.tell("a", ADD={"result": result_of("9.0.0")})
    if not runtime.offer(runtime.network("a", version="9.0.0")):
        return
    pod = runtime.pod()
    refusal = runtime.attempt(pod)
    with together() as check:
        with check:
            expect(
                refusal,
                "a network of version 9.0.0 is refused",
                wanted="an error",
                got="the pod runs",
            )
        with check:
            owed = undone(runtime, pod)
            expect(not owed, "what was added is deleted", wanted="DEL", got=owed)


@case("CNI-RT-058", SPEC, alone=True)
def test_a_list_without_a_version_is_of_0_1_0_or_refused(runtime: RuntimeUnderTest) -> None:
    """That was the first version, which had no such member. A plugin that gets an empty text can
    only guess.
    """
    if not runtime.offer(runtime.network("a", version=None)):
        return
    pod = runtime.pod()
    runtime.attempt(pod)
    adds = runtime.calls("a ADD")
    owed = undone(runtime, pod)
    with together() as check:
        with check:
            expect(not owed, "what was added can be deleted", wanted="DEL", got=owed)
        sent = [call.document.get("cniVersion") for call in adds]
        odd = [each for each in sent if each not in (None, "0.1.0")]
        with check:
            expect(
                not odd, "a list without cniVersion is one of 0.1.0", wanted="0.1.0", got=repr(sent)
            )
