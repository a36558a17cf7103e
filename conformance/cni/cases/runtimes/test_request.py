"""The document that a runtime makes for a plugin of what the configuration says."""

from __future__ import annotations

from decimal import Decimal

from conformance.cni.runtimes.checks import differences
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import FIELDS, pod_session
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.documents import DocumentError
from refimpl.documents import json as documents

SPEC = "CNI 1.1 Deriving request configuration from plugin configuration"
OF_LISTS = {"cniVersions", "disableCheck", "disableGC", "loadOnlyInlinedPlugins", "plugins"}


@case("CNI-RT-007", SPEC, alone=True)
def test_stdin_is_one_object_with_the_name_and_version_of_the_list(
    runtime: RuntimeUnderTest,
) -> None:
    """A plugin keeps what it holds by the network's name, and answers in that version."""
    session = pod_session(runtime)
    for call in session.calls:
        try:
            sent = documents.parse(call.stdin).value
        except DocumentError as error:
            sent = f"{error}"
        rule = f"stdin of {call.step} is one JSON object"
        expect(isinstance(sent, dict), rule, wanted="an object, then the end", got=sent)
        name_and_version = sent.get("name"), sent.get("cniVersion")
        wanted = session.document["name"], "1.0.0"
        expect(
            name_and_version == wanted,
            f"{call.step} gets name and cniVersion of the list, whatever the plugin's object has",
            wanted=wanted,
            got=name_and_version,
        )


@case("CNI-RT-008", SPEC, alone=True)
def test_what_a_plugins_object_has_arrives_unchanged(runtime: RuntimeUnderTest) -> None:
    """A number that is rounded on the way is another subnet, another id, another limit (the
    reference library's numbers are floating).
    """
    with together() as check:
        for step in ("a ADD", "a DEL"):
            call = pod_session(runtime).of(step)
            sent = call.document.get("refimpl") if call else None
            wrong = differences(sent, FIELDS)
            if runtime.practice:
                wrong = [line for line in wrong if "2^53" not in line]
            with check:
                expect(
                    not wrong,
                    f"{step} gets the members of the plugin's object",
                    wanted="",
                    got=wrong,
                )
        if runtime.practice:
            return
        huge = {"huge": Decimal("1E+400")}
        taken = runtime.offer(runtime.network(runtime.plugin("a", refimpl=huge)))
        rule = "a number beyond the range of floating point arrives like any other"
        expect(taken, rule, wanted="1E+400", got="the configuration is refused")
        runtime.started()
        sent = runtime.calls("a ADD")[0].document.get("refimpl")
        expect(sent == huge, rule, wanted=huge, got=sent)


@case("CNI-RT-009", SPEC, alone=True)
def test_capabilities_are_taken_out(runtime: RuntimeUnderTest) -> None:
    """They are a word to the runtime alone; what the runtime says to it comes as runtimeConfig."""
    with together() as check:
        for call in pod_session(runtime).calls:
            there = "capabilities" in call.document
            with check:
                expect(
                    not there or runtime.practice,
                    f"{call.step} gets no capabilities",
                    wanted="no such member",
                    got=call.document.get("capabilities"),
                )


@case("CNI-RT-010", SPEC, alone=True)
def test_what_is_the_lists_stays_with_the_list(runtime: RuntimeUnderTest) -> None:
    """A plugin would have to know what not to look at."""
    with together() as check:
        for call in pod_session(runtime).calls:
            there = sorted(OF_LISTS & call.document.keys())
            with check:
                expect(
                    not there, f"{call.step} gets no member of the list", wanted="none", got=there
                )


@case("CNI-RT-011", SPEC, alone=True)
def test_what_only_a_runtime_may_say_is_not_taken_from_the_configuration(
    runtime: RuntimeUnderTest,
) -> None:
    """A prevResult that an administrator wrote, or a copy left behind, is somebody else's pod."""
    theirs = {
        "cni.dev/foo": 1,
        "prevResult": {"cniVersion": "1.0.0", "ips": [{"address": "10.9.9.9/32"}]},
        "runtimeConfig": {"refimpl": True},
    }
    runtime.use(runtime.plugin("a", **theirs))
    runtime.started()
    sent = runtime.calls("a ADD")[0].document
    forwarded = [name for name, value in theirs.items() if sent.get(name) == value]
    expect(
        not forwarded,
        "reserved members of a plugin's object are not sent as they are",
        wanted="none of them, or the runtime's own",
        got=", ".join(forwarded),
    )
