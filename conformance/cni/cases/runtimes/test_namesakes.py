"""Pods of one name: a pod that is made anew while, or after, the one before it ends."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.cni.needs import PODS
from conformance.cni.runtimes.calls import RecordedCall
from conformance.cni.runtimes.checks import names
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import result_of
from conformance.cni.runtimes.subject import RequestedPod
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, together

_SPEC = "CNI 1.1 Lifecycle and ordering: an attachment is CNI_CONTAINERID and CNI_IFNAME"


@case("CNI-RT-059", _SPEC, needs=[PODS], alone=True)
def test_pods_of_one_name_are_attached_apart(runtime: RuntimeUnderTest) -> None:
    """A stateful pod is made anew under its name while the last sandbox is still being taken down.
    A runtime that goes by the name ends the wrong one.
    """
    first, one, place = *_attached(runtime), runtime.seen()
    second, two = _attached(runtime, first.name)
    expect(
        one.id != two.id and one.env.get("CNI_NETNS") != two.env.get("CNI_NETNS"),
        "two pods of one name have a container id and a namespace each",
        wanted="two of both",
        got=f"{one.id} in {one.env.get('CNI_NETNS')}, {two.id} in {two.env.get('CNI_NETNS')}",
    )
    touched = [call for call in runtime.since(place) if call.id == one.id]
    rule = "a pod that starts leaves the attachment of its namesake alone"
    expect(not touched, rule, wanted="no call for it", got=names(touched))
    with together() as check:
        for pod, own in ((first, one), (second, two)):
            with check:
                _expect_end(runtime, pod, own)


@case("CNI-RT-060", _SPEC, needs=[PODS], alone=True)
def test_a_late_delete_changes_nothing_of_a_later_pod(runtime: RuntimeUnderTest) -> None:
    """kubelet stops a sandbox as often as it likes, also when its namespace is gone and the next
    pod of that name runs.
    """
    first, _ = _attached(runtime)
    runtime.stop(first)
    second, two = _attached(runtime, first.name)
    place = runtime.seen()
    runtime.stop(first)
    runtime.remove(first)
    own = {two.id, two.env.get("CNI_NETNS")}
    touched = [c for c in runtime.since(place) if own & {c.id, c.env.get("CNI_NETNS")}]
    rule = "the end of a pod that was ended before leaves the next pod of its name alone"
    expect(not touched, rule, wanted="no call for it", got=names(touched))
    _expect_end(runtime, second, two)


def _attached(runtime: RuntimeUnderTest, name: str = "") -> tuple[RequestedPod, RecordedCall]:
    """A pod that runs, of that name where one is given, and the last of its ADDs."""
    runtime.tell("b", ADD={"result": result_of()})
    if not name:
        runtime.use("a", "b")
    place = runtime.seen()
    pod = runtime.started(runtime.pod(name=name) if name else runtime.pod())
    adds = [call for call in runtime.since(place) if call.verb == "ADD"]
    if not adds:
        raise Broken("a pod that runs is attached", "ADD of each plugin", "no ADD")
    return pod, adds[-1]


def _expect_end(runtime: RuntimeUnderTest, pod: RequestedPod, add: RecordedCall) -> None:
    """The pod's end is DEL of what its own ADD made, and of nothing else."""
    place = runtime.seen()
    refusal = runtime.stop(pod)
    calls = runtime.since(place)
    expect(not refusal, "a pod whose namesake runs can be stopped", wanted="no error", got=refusal)
    _expect_about(calls, add)
    deletes = [call for call in calls if call.verb == "DEL"]
    expect(deletes, "the end of a pod is DEL of its attachment", wanted="DEL", got=names(calls))
    given = (deletes[0].previous or {}).get("interfaces") or [{}]
    expect(
        [each.get("sandbox") for each in given] == [add.env.get("CNI_NETNS")],
        "DEL has the result of the pod's own ADD",
        wanted=f"an interface in {add.env.get('CNI_NETNS')}",
        got=given,
    )


def _expect_about(calls: Sequence[RecordedCall], add: RecordedCall) -> None:
    """All of these calls are about the container of that ADD."""
    others = [f"{call.step} of {call.id}" for call in calls if call.id != add.id]
    rule = "the end of a pod is no call for another one of its name"
    expect(not others, rule, wanted=f"calls for {add.id}", got=others)
