"""What a runtime does at the same time, and what it must not."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

from conformance.cni.needs import SEVERAL_NETWORKS
from conformance.cni.runtimes.calls import RecordedCall
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.subject import RequestedPod
from conformance.engine.case import case
from conformance.engine.verdict import expect, soon
from refimpl.documents import json as documents

ORDER = "CNI 1.1 Lifecycle and ordering"
PODS_AT_ONCE = 10
# On a busy machine two plugins that are started at once begin some time apart.
_ADD_S = 0.25


@case("CNI-RT-050", ORDER, needs=[SEVERAL_NETWORKS], alone=True)
def test_the_networks_of_a_pod_are_attached_one_after_the_other(runtime: RuntimeUnderTest) -> None:
    """Plugins that set routes or the name server of one namespace get in each other's way."""
    for letter in "ab":
        runtime.tell(letter, {"verb": "ADD", "do": "hang", "seconds": _ADD_S})
    second = runtime.network("b", name=f"{runtime.name}-second")
    runtime.files.write(documents.dump(second), runtime.files.path(2))
    runtime.use("a")
    soon(lambda: second["name"] in runtime.subject.networks(), 5.0)
    pod = runtime.started()
    runtime.stop(pod)
    adds = runtime.calls("ADD")
    names = {call.plugin: call.env.get("CNI_IFNAME") for call in adds}
    expect(
        len(set(names.values())) == 2,
        "each network has an interface of its own name",
        wanted="two names",
        got=names,
    )
    at_once = _overlaps(runtime.calls())
    expect(
        not at_once or runtime.practice,
        "no two calls for a container run at once",
        wanted="one after the other",
        got=at_once,
    )


@case("CNI-RT-051", ORDER, alone=True)
def test_calls_for_a_container_never_overlap_however_many_pods_there_are(
    runtime: RuntimeUnderTest,
) -> None:
    """When a node starts, all its pods come at once; a plugin may count on its container being
    its own for the time. Ten pods here.
    """
    runtime.use("a", "b")
    pods = [runtime.pod() for _ in range(PODS_AT_ONCE)]

    def run_and_end(pod: RequestedPod) -> str:
        return runtime.attempt(pod) or runtime.ended(pod)

    with ThreadPoolExecutor(PODS_AT_ONCE) as pool:
        refusals = [each for each in pool.map(run_and_end, pods) if each]
    expect(not refusals, "pods that come at once all run", wanted="no error", got=refusals)
    at_once = _overlaps(runtime.calls())
    expect(
        not at_once,
        "no two calls for a container run at once",
        wanted="one after the other",
        got=at_once,
    )


def _overlaps(calls: list[RecordedCall]) -> list[str]:
    """Which calls for one container ran at the same time as the one before them."""
    steps = []
    for id in {call.id for call in calls}:
        mine = sorted((call for call in calls if call.id == id), key=lambda call: call.start_ns)
        pairs = itertools.pairwise(mine)
        steps += [f"{one.step} and {two.step}" for one, two in pairs if one.overlaps(two)]
    return steps
