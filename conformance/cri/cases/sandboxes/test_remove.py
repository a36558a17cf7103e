"""RemovePodSandbox."""

from __future__ import annotations

from conformance.cri.needs import IMAGE
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status
from refimpl.wire.status import Code


@case("CRI-SB-051", "CRI v1 RemovePodSandbox")
def test_a_removed_sandbox_is_gone(cri: CriTarget) -> None:
    """From the list, and to whoever asks for it."""
    pod = cri.pods.run()
    pod.stop()
    pod.remove()
    expect(pod.listed() is None, "it is not listed", wanted="none", got=pod.listed())
    expect_refusal(pod.status, "its status is NOT_FOUND", preferred={Code.NOT_FOUND})


@case("CRI-SB-052", "CRI v1 RemovePodSandbox: by force where it still runs")
def test_a_sandbox_that_is_ready_can_be_removed(cri: CriTarget) -> None:
    """Whoever cleans up a node does so."""
    pod = cri.pods.run()
    expect_status(pod.remove, {Code.OK}, "RemovePodSandbox of a READY sandbox succeeds")
    expect(pod.listed() is None, "it is not listed", wanted="none", got=pod.listed())


@case("CRI-SB-053", "CRI v1 RemovePodSandbox is idempotent")
def test_a_sandbox_may_be_removed_again(cri: CriTarget) -> None:
    """Kubelet repeats what it got no answer to."""
    pod = cri.pods.run()
    pod.remove()
    expect_status(pod.remove, {Code.OK}, "a second RemovePodSandbox succeeds")
    id = cri.pods.unknown_id()
    expect_status(
        lambda: cri.kubelet.remove_pod_sandbox(id), {Code.OK}, "removing an unknown one succeeds"
    )


@case("CRI-SB-054", "CRI v1 RemovePodSandbox: with all its containers", needs=[IMAGE])
def test_containers_go_with_their_sandbox(cri: CriTarget) -> None:
    """In whatever state they are."""
    pod = cri.pods.run()
    pod.create()
    pod.run()
    pod.run(command=("/bin/true",)).ended()
    pod.remove()
    left = cri.kubelet.list_containers(sandbox_id=pod.id)
    expect(not left, "none of them is listed", wanted=[], got=left)
