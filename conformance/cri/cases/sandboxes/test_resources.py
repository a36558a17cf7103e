"""UpdatePodSandboxResources: kubelet tells of what it has changed already (KEP 1287)."""

from __future__ import annotations

from conformance.cri.needs import served
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code

_UPDATE = served("UpdatePodSandboxResources")
_RESOURCES = pb.LinuxContainerResources(cpu_shares=512, memory_limit_in_bytes=64 << 20)


def _update(cri: CriTarget, id: str) -> None:
    cri.runtime.UpdatePodSandboxResources(
        pb.UpdatePodSandboxResourcesRequest(pod_sandbox_id=id, resources=_RESOURCES)
    )


@case("CRI-SB-066", "CRI v1 UpdatePodSandboxResources", needs=[_UPDATE])
def test_new_resources_of_a_sandbox_are_taken(cri: CriTarget) -> None:
    """Kubelet has changed the cgroup of the pod by then."""
    pod = cri.pods.shared()
    expect_status(lambda: _update(cri, pod.id), {Code.OK}, "it succeeds for a READY sandbox")


@case("CRI-SB-067", "containerd: NotFound", needs=[_UPDATE])
def test_resources_of_an_unknown_sandbox_are_refused(cri: CriTarget) -> None:
    """There is nothing that they would be of."""
    expect_refusal(
        lambda: _update(cri, cri.pods.unknown_id()),
        "an unknown sandbox is NOT_FOUND",
        preferred={Code.NOT_FOUND},
    )


@case("CRI-SB-068", "containerd: what was told is repeated by the next call", needs=[_UPDATE])
def test_the_same_resources_may_be_told_again(cri: CriTarget) -> None:
    """Kubelet repeats a call whose answer was lost; the sandbox is as it was."""
    pod = cri.pods.shared()
    before = pod.status()
    for _ in range(2):
        expect_status(lambda: _update(cri, pod.id), {Code.OK}, "it succeeds each time")
    after = pod.status()
    expect(after == before, "the status is as before", wanted=before, got=after)
