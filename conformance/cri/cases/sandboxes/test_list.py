"""ListPodSandbox and its filters. A case looks at its own sandboxes only."""

from __future__ import annotations

from typing import Any

from conformance.cri.pods import PodUnderTest
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb

_PREFIX = 12
_MANY = 17
"""One more than there are digits for the beginning of an id."""


def _listed(cri: CriTarget, **wanted: Any) -> list[str]:
    request = pb.ListPodSandboxRequest(filter=pb.PodSandboxFilter(**wanted))
    return [each.id for each in cri.runtime.ListPodSandbox(request).items]


def _expect_ids(got: list[str], wanted: list[PodUnderTest], rule: str) -> None:
    ids = [each.id for each in wanted]
    expect(sorted(got) == sorted(ids), rule, wanted=ids, got=got)


def _labelled(cri: CriTarget, **labels: str) -> PodUnderTest:
    return cri.pods.run(labels={**labels, "refimpl.example/case": "list"})


@case("CRI-SB-056", "CRI v1 PodSandboxFilter.id")
def test_an_id_or_its_beginning_selects_one(cri: CriTarget) -> None:
    """And an unknown one none, which is no error."""
    pod = cri.pods.shared()
    _expect_ids(_listed(cri, id=pod.id), [pod], "the id selects it")
    _expect_ids(_listed(cri, id=pod.id[:_PREFIX]), [pod], "the beginning of its id selects it")
    _expect_ids(_listed(cri, id=cri.pods.unknown_id()), [], "an unknown id selects none")


@case("CRI-SB-057", "CRI v1 PodSandboxFilter.state")
def test_a_state_selects_those_that_are_in_it(cri: CriTarget) -> None:
    """READY is 0, and a state all the same."""
    ready, stopped = cri.pods.run(), cri.pods.run()
    stopped.stop()
    for state, pod, other in (
        (pb.SANDBOX_READY, ready, stopped),
        (pb.SANDBOX_NOTREADY, stopped, ready),
    ):
        ids = _listed(cri, state=pb.PodSandboxStateValue(state=state))
        name = pb.PodSandboxState.Name(state)
        expect(pod.id in ids, f"{name} selects one that is so", wanted=pod.id, got=ids)
        expect(other.id not in ids, f"{name} selects no other", wanted="none", got=ids)


@case("CRI-SB-058", "CRI v1 PodSandboxFilter.label_selector: all of them")
def test_all_labels_of_a_selector_have_to_be_there(cri: CriTarget) -> None:
    """Kubelet finds the sandboxes of a pod by its uid."""
    both, one = _labelled(cri, a="1", b="2"), _labelled(cri, a="1")
    common = {"refimpl.example/case": "list"}
    _expect_ids(
        _listed(cri, label_selector={"a": "1", "b": "2", **common}), [both], "both labels select it"
    )
    _expect_ids(
        _listed(cri, label_selector={"a": "1", **common}), [both, one], "one label selects both"
    )
    _expect_ids(_listed(cri, label_selector={"a": "1", "no": "such"}), [], "a missing key is none")


@case("CRI-SB-059", "CRI v1 PodSandboxFilter: fields are joined by and")
def test_all_of_a_filter_has_to_hold(cri: CriTarget) -> None:
    """An id with the labels of another pod is none."""
    pod = cri.pods.shared()
    ids = _listed(cri, id=pod.id, label_selector={"refimpl.example/no": "such"})
    _expect_ids(ids, [], "id and a label that it has not select none")


@case("CRI-SB-060", "proto3: a message that is not set is as one that is empty")
def test_no_filter_is_an_empty_filter(cri: CriTarget) -> None:
    """Kubelet sends one or the other."""
    pod = cri.pods.shared()
    without = [each.id for each in cri.runtime.ListPodSandbox(pb.ListPodSandboxRequest()).items]
    for what, ids in (("no filter", without), ("an empty filter", _listed(cri))):
        expect(pod.id in ids, f"{what} selects all", wanted=pod.id, got=ids)


@case("CRI-SB-061", "containerd, CRI-O: the beginning of several ids selects none")
def test_an_ambiguous_beginning_is_no_error(cri: CriTarget) -> None:
    """And must not select whichever comes first."""
    pods = [cri.pods.run() for _ in range(_MANY)]
    firsts = [pod.id[0] for pod in pods]
    ambiguous = next(each for each in firsts if firsts.count(each) > 1)
    ids = _listed(cri, id=ambiguous)
    expect(ids == [], f"{ambiguous!r}, which several begin with, selects none", wanted=[], got=ids)


@case("CRI-SB-062", "CRI v1 PodSandboxFilter.label_selector: values are equal")
def test_an_empty_value_selects_an_empty_value(cri: CriTarget) -> None:
    """It is no wildcard: kubelet would kill what is not its own."""
    empty, full = _labelled(cri, tier=""), _labelled(cri, tier="web")
    ids = _listed(cri, label_selector={"tier": ""})
    expect(empty.id in ids, "the one with the empty value is selected", wanted=empty.id, got=ids)
    expect(full.id not in ids, "no other is", wanted="none", got=ids)
