"""What a runtime asks of plugins when a pod ends or never begins, and in which order."""

from __future__ import annotations

from functools import partial

import pytest

from conformance.cni.needs import PODS, RUNTIME_NETNS
from conformance.cni.runtimes.checks import differences, names, undone
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import pod_session
from conformance.engine.case import case
from conformance.engine.verdict import expect, soon, together

ORDER = "CNI 1.1 Lifecycle and ordering"
DEL = "CNI 1.1 DEL"
_FAILS = {"error": {"code": 111, "msg": "told to fail"}}


@case("CNI-RT-021", ORDER, alone=True)
def test_plugins_are_deleted_in_reverse_with_the_final_result(runtime: RuntimeUnderTest) -> None:
    """What the last plugin built stands on what the first one made; and a plugin that keeps no
    state of its own finds in prevResult what there is to undo.
    """
    session = pod_session(runtime)
    deletes = session.deletes[:3]
    expect(
        [call.plugin for call in deletes] == ["c", "b", "a"],
        "DEL goes through the list from its end to its beginning",
        wanted="c DEL, b DEL, a DEL",
        got=names(session.calls),
    )
    for call in deletes:
        wrong = differences(call.previous or {}, session.result)
        expect(
            not wrong,
            f"DEL gives {call.plugin} the final result of ADD",
            wanted=session.result,
            got=call.previous or "no prevResult",
        )


@case("CNI-RT-022", ORDER, alone=True)
def test_a_failed_add_is_followed_by_delete_of_all(runtime: RuntimeUnderTest) -> None:
    """A plugin that failed may have made half of it, those before it all; and those behind it
    take a DEL without an ADD. There is no final result to give them.
    """
    runtime.tell("b", ADD=_FAILS)
    runtime.use("a", "b", "c")
    refusal = runtime.attempt()
    wanted = ["a ADD", "b ADD", "c DEL", "b DEL", "a DEL"]
    soon(lambda: runtime.steps()[:5] == wanted)
    rule = "an ADD that fails is followed by DEL of the whole list in reverse"
    with together() as check:
        with check:
            expect(refusal, "a failing plugin fails the pod", wanted="an error", got="the pod runs")
        with check:
            expect(runtime.steps()[:5] == wanted, rule, wanted=wanted, got=names(runtime.calls()))
        given = [call.step for call in runtime.calls("DEL")[:3] if call.previous is not None]
        with check:
            expect(not given, "that DEL has no prevResult", wanted="none", got=given)


@case("CNI-RT-023", DEL, alone=True)
def test_a_failed_delete_is_repeated_until_it_succeeds(runtime: RuntimeUnderTest) -> None:
    """What a plugin could not give back today it can tomorrow; a runtime that forgets the pod
    leaves addresses taken for ever (seen in the field: containerd#12130).
    """
    rule, wanted = (
        "a DEL that failed is repeated, by the runtime or when a client asks",
        "DEL of all",
    )
    with together() as check:
        for name, answers in (
            ("DEL fails after a good ADD", {"DEL": _FAILS}),
            ("ADD and the DEL after it fail", {"ADD": _FAILS, "DEL": _FAILS}),
        ):
            found = partial(check.found, f"{rule}: {name}", wanted)
            runtime.tell("b", **answers)
            runtime.use("a", "b", "c")
            pod, place = runtime.pod(), runtime.seen()
            if not runtime.attempt(pod):
                runtime.stop(pod)
            steps = [call.step for call in runtime.since(place) if call.verb == "DEL"]
            if "b DEL" in steps and "a DEL" in steps:
                found(f"DEL goes on behind the plugin that failed ({', '.join(steps)})")
            found(undone(runtime, pod, place))
            runtime.recorders.reset()


@case("CNI-RT-024", DEL, alone=True)
def test_delete_has_the_parameters_of_add(runtime: RuntimeUnderTest) -> None:
    """A mapping of ports is taken back by its description, and an attachment found by its names."""
    session = pod_session(runtime)
    with together() as check:
        for call in session.deletes[:3]:
            add = session.of(f"{call.plugin} ADD")
            assert add is not None
            for name in ("CNI_CONTAINERID", "CNI_IFNAME"):
                with check:
                    expect(
                        call.env.get(name) == add.env.get(name),
                        f"{call.step} has the {name} of ADD",
                        wanted=add.env.get(name),
                        got=call.env.get(name),
                    )
            args = [sorted(each.env.get("CNI_ARGS", "").split(";")) for each in (add, call)]
            with check:
                expect(args[0] == args[1], f"{call.step} has CNI_ARGS", wanted=args[0], got=args[1])
            has = [each.document.get("runtimeConfig") for each in (add, call)]
            with check:
                expect(
                    has[0] == has[1], f"{call.step} has runtimeConfig", wanted=has[0], got=has[1]
                )


@case("CNI-RT-025", ORDER, needs=[PODS], alone=True)
def test_a_pod_that_cannot_start_after_its_add_is_deleted(runtime: RuntimeUnderTest) -> None:
    """The network was made; the pod that it was made for never comes."""
    runtime.use("a", "b")
    pod = runtime.pod(stuck=True)
    refusal = runtime.attempt(pod)
    if not refusal or not runtime.calls("ADD"):
        pytest.skip(f"{runtime.subject.name}: its sandbox does not fail between ADD and its start")
    wanted = ["a ADD", "b ADD", "b DEL", "a DEL"]
    soon(lambda: runtime.steps()[:4] == wanted)
    expect(
        runtime.steps()[:4] == wanted,
        "a sandbox that cannot start is detached",
        wanted=wanted,
        got=names(runtime.calls()),
    )
    bare = [call.step for call in runtime.calls("DEL")[:2] if not call.previous]
    expect(not bare, "that DEL has the final result", wanted="prevResult", got=bare)


@case("CNI-RT-026", DEL, alone=True)
def test_the_end_of_a_pod_is_delete_and_nothing_after_it_is_add(runtime: RuntimeUnderTest) -> None:
    """kubelet stops a pod as often as it likes."""
    session = pod_session(runtime)
    first = next((i for i, call in enumerate(session.calls) if call.verb == "DEL"), None)
    rule = "a pod that is stopped twice and removed is deleted, and never added again"
    expect(first is not None, rule, wanted="a DEL", got=names(session.calls))
    after = [call.step for call in session.calls[first:] if call.verb == "ADD"]
    expect(not after, rule, wanted="no ADD after DEL", got=names(session.calls))
    plugins = {call.plugin for call in session.deletes}
    expect(plugins == {"a", "b", "c"}, rule, wanted="DEL of all plugins", got=names(session.calls))


@case("CNI-RT-027", DEL, needs=[RUNTIME_NETNS], alone=True)
def test_a_pod_whose_namespace_is_lost_is_deleted_all_the_same(runtime: RuntimeUnderTest) -> None:
    """After a crash there may be nothing, or an empty file in its place; what the plugins hold
    outside of it stays until they are asked.
    """
    rule, wanted = "a pod whose namespace is gone can be stopped, and its plugins get DEL", "DEL"
    with together() as check:
        for leave in ("nothing", "file"):
            name = f"{leave} where the namespace was"
            found = partial(check.found, f"{rule}: {name}", wanted)
            runtime.use("a", "b")
            pod, place = runtime.pod(), runtime.seen()
            runtime.started(pod)
            path = runtime.since(place)[0].env.get("CNI_NETNS", "")
            runtime.subject.lose_netns(path, leave=leave)
            refusal = runtime.ended(pod)
            found(f"the pod cannot be removed: {refusal}" if refusal else "")
            found(undone(runtime, pod, place))
            deletes = [call for call in runtime.since(place) if call.verb == "DEL"]
            odd = {call.env.get("CNI_NETNS", "") for call in deletes} - {path, ""}
            found(f"CNI_NETNS is {odd}" if odd else "")
