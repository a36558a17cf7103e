"""RemoveContainer."""

from __future__ import annotations

from conformance.cri.needs import IMAGE
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status
from refimpl.wire.status import Code


@case("CRI-CT-035", "CRI v1 RemoveContainer: by force where it runs", needs=[IMAGE])
def test_a_container_is_removed_in_whatever_state(cri: CriTarget) -> None:
    """CREATED, RUNNING and EXITED alike."""
    pod = cri.pods.shared()
    done = pod.run(command=("/bin/true",))
    done.ended()
    for what, container in (("CREATED", pod.create()), ("RUNNING", pod.run()), ("EXITED", done)):
        expect_status(container.remove, {Code.OK}, f"removing a {what} container succeeds")
        left = container.listed()
        expect(left is None, f"the {what} one is not listed any more", wanted="none", got=left)


@case("CRI-CT-036", "CRI v1 RemoveContainer is idempotent", needs=[IMAGE])
def test_a_container_may_be_removed_again(cri: CriTarget) -> None:
    """Kubelet repeats what it got no answer to."""
    container = cri.pods.shared().create()
    container.remove()
    expect_status(container.remove, {Code.OK}, "a second RemoveContainer succeeds")
    id = cri.pods.unknown_id()
    expect_status(
        lambda: cri.kubelet.remove_container(id), {Code.OK}, "removing an unknown one succeeds"
    )


@case("CRI-CT-039", "kubelet looks for NotFound (IsNotFound)")
def test_an_unknown_container_is_not_found(cri: CriTarget) -> None:
    """Kubelet takes any other error for one that may pass."""
    expect_refusal(
        lambda: cri.kubelet.container_status(cri.pods.unknown_id()),
        "the status of an unknown container is NOT_FOUND",
        preferred={Code.NOT_FOUND},
    )
