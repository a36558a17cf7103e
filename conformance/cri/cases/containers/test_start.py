"""StartContainer, and how processes end."""

from __future__ import annotations

from conformance.cri.needs import IMAGE
from conformance.cri.pods import FAILING
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

_SHELL = ("/bin/sh", "-c")
_SLACK_NS = 50_000_000
"""The start is taken after the call, the end from the shim (D96)."""


@case("CRI-CT-015", "CRI v1 StartContainer", needs=[IMAGE])
def test_a_started_container_runs(cri: CriTarget) -> None:
    """And tells since when."""
    container = cri.pods.shared().run()
    status = container.status()
    expect(status.state == pb.CONTAINER_RUNNING, "it is RUNNING", wanted=1, got=status.state)
    expect(
        status.started_at >= status.created_at > 0,
        "it was started after it was made",
        wanted=f">= {status.created_at}",
        got=status.started_at,
    )


@case("CRI-CT-016", "containerd, CRI-O: a container is started once", needs=[IMAGE])
def test_a_container_does_not_start_twice(cri: CriTarget) -> None:
    """A second process in it would be nobody's."""
    container = cri.pods.shared().run()
    expect_refusal(container.start, "a second StartContainer is refused")
    state = container.status().state
    expect(state == pb.CONTAINER_RUNNING, "it is still RUNNING", wanted=1, got=state)


@case("CRI-CT-017", "containerd, CRI-O: NotFound")
def test_an_unknown_container_does_not_start(cri: CriTarget) -> None:
    """Kubelet makes another one then."""
    expect_refusal(
        lambda: cri.kubelet.start_container(cri.pods.unknown_id()),
        "an unknown container is NOT_FOUND",
        preferred={Code.NOT_FOUND},
    )


@case("CRI-CT-018", "kubelet: RunContainerError and its back-off", needs=[IMAGE])
def test_a_program_that_is_missing_fails_the_start(cri: CriTarget) -> None:
    """The commonest mistake in a pod; its message is what people get to see."""
    container = cri.pods.shared().create(command=FAILING)
    refusal = expect_refusal(container.start, "a start without a program is refused")
    expect(FAILING[0] in refusal.message, "it names the program", wanted=FAILING[0], got=refusal)
    try:
        status = container.status()
    except Refused:
        return  # gone, as in CRI-O
    expect(status.state == pb.CONTAINER_EXITED, "it has EXITED", wanted=2, got=status.state)
    expect(status.exit_code, "its exit code is an error's", wanted="not 0", got=status.exit_code)


@case("CRI-CT-019", "kubelet: how a job has ended", needs=[IMAGE])
def test_one_that_ends_at_once_has_completed(cri: CriTarget) -> None:
    """Also where it has ended before the call is answered."""
    status = cri.pods.shared().run(command=("/bin/true",)).ended()
    ended = (status.exit_code, status.reason)
    expect(ended == (0, "Completed"), "it Completed with 0", wanted=(0, "Completed"), got=ended)
    expect(
        status.finished_at >= status.started_at - _SLACK_NS,
        "it ended after it started",
        wanted=f">= {status.started_at}",
        got=status.finished_at,
    )


@case("CRI-CT-020", "CRI v1 ContainerStatus.exit_code", needs=[IMAGE])
def test_exit_codes_are_those_of_the_process(cri: CriTarget) -> None:
    """Jobs decide by them whether to be tried again."""
    pod = cri.pods.shared()
    for code in (1, 2, 126, 127, 255):
        status = pod.run(command=(*_SHELL, f"exit {code}")).ended()
        expect(status.exit_code == code, f"exit {code} is told", wanted=code, got=status)


@case("CRI-CT-024", "CRI v1 ContainerStatus.reason: a CamelCase word", needs=[IMAGE])
def test_a_failure_is_called_an_error(cri: CriTarget) -> None:
    """It is the reason in `kubectl get pods`."""
    status = cri.pods.shared().run(command=(*_SHELL, "exit 3")).ended()
    expect(status.reason == "Error", "the reason is Error", wanted="Error", got=status.reason)
