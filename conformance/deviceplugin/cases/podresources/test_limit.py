"""How often pod resources may be asked, and how calls are counted (PR)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, expect_status, should, together
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.shown import REFUSED, RUNS, SERVES, get, name_of
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.deviceplugin.api import podresources_v1alpha1_pb2 as alpha
from refimpl.wire.status import Code, Refused

LIMIT = "pod resources: 100 calls a second, 10 at once"
QPS, BURST = 100, 10
CALLS, AT_ONCE = 200, 8

Ask = Callable[[], object]


def calls_of(node: NodeUnderTest) -> list[Ask]:
    """One call of each method of both versions."""
    new, old = node.podresources.v1(), node.podresources.v1alpha1()
    missing = pr.GetPodResourcesRequest(pod_name="refimpl-no-such-pod", pod_namespace="default")
    return [
        lambda: new.List(pr.ListPodResourcesRequest()),
        lambda: new.GetAllocatableResources(pr.AllocatableResourcesRequest()),
        lambda: new.Get(missing),
        lambda: old.List(alpha.ListPodResourcesRequest()),
    ]


def burst(calls: Sequence[Ask]) -> tuple[Counter[Code], float]:
    """Makes `CALLS` calls as fast as may be, these in turn: how they ended, and in how long."""

    def code(number: int) -> Code:
        try:
            calls[number % len(calls)]()
        except Refused as refused:
            return refused.code
        return Code.OK

    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        codes = Counter(pool.map(code, range(CALLS)))
    return codes, time.monotonic() - began


@case("PR-019", LIMIT, needs=SERVES)
def test_too_many_calls_are_refused_and_soon_none_any_more(node: NodeUnderTest) -> None:
    """An agent in a tight loop must not slow kubelet down, and a patient one must get through."""
    ask = calls_of(node)[0]
    codes, _ = burst([ask])
    with together() as check:
        with check:
            expect(
                codes.keys() == {Code.OK, Code.RESOURCE_EXHAUSTED},
                f"of {CALLS} calls at once some pass, and the rest is RESOURCE_EXHAUSTED",
                wanted="OK and RESOURCE_EXHAUSTED",
                got={code.name: count for code, count in codes.items()},
            )
        with check:
            node.until(lambda: _passes(ask), "calls pass again within a second", 1.0)


def _passes(ask: Ask) -> bool:
    try:
        ask()
    except Refused as refused:
        if refused.code != Code.RESOURCE_EXHAUSTED:
            raise
        return False
    return True


@case("PR-033", LIMIT, needs=SERVES)
def test_all_methods_and_versions_share_one_limit(node: NodeUnderTest) -> None:
    """Two agents on a node take calls away from one another, whatever they call."""
    codes, seconds = burst(calls_of(node))
    refused = codes[Code.RESOURCE_EXHAUSTED]
    most = BURST + QPS * seconds + 1
    expect(
        CALLS - refused <= most,
        f"in {seconds:.2f} s one limit lets {most:.0f} calls pass, whichever they are",
        wanted=f"at most {most:.0f} of {CALLS}",
        got=CALLS - refused,
    )


def counted(node: NodeUnderTest) -> Counter[str]:
    """The metrics of pod resources: what each is about -> count."""
    prefix, codes = "kubelet_pod_resources_endpoint_", Counter[str]()
    for name, value in node.client.metrics().items():
        if name.startswith(prefix):
            stem, _, labels = name.removeprefix(prefix).partition("{")
            of = "v1alpha1" if '"v1alpha1"' in labels else "v1"
            codes[f"{stem} {of}"] += int(value)
    return codes


@case("PR-030", "kubelet metrics: pod resources", needs=[*RUNS, Feature("metrics"), since("1.34")])
def test_calls_are_counted_by_method(node: NodeUnderTest) -> None:
    """Without the numbers nobody finds the agent that asks too often."""
    pod = node.pods.running()
    before = counted(node)
    lists, offers, missing, old = calls_of(node)
    for ask in (lists, lists, lists, offers, offers, old):
        node.podresources.patiently(ask)
    get(node, name_of(pod))
    with together() as check:
        with check:
            expect_status(
                lambda: node.podresources.patiently(missing),
                REFUSED,
                "Get of an unknown pod is an error",
            )
        wanted = {
            "requests_total v1": 7,
            "requests_list v1": 3,
            "requests_get_allocatable v1": 2,
            "requests_get v1": 2,
            "errors_get v1": 1,
            "requests_total v1alpha1": 1,
        }
        codes = {**(counted(node) - before)}
        with check:
            expect(codes == wanted, "each call counts for its method", wanted=wanted, got=codes)
        before = counted(node)
        passed = burst([lists])[0][Code.OK]
        counted_lists = (counted(node) - before)["requests_list v1"]
        with check:
            should(
                counted_lists == passed,
                "calls beyond the limit are not counted",
                wanted=passed,
                got=counted_lists,
            )
