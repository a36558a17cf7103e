"""StopContainer."""

from __future__ import annotations

import time

from conformance.cri.needs import IMAGE
from conformance.cri.pods import STUBBORN, shell
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, timeout
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code

_KILLED = 137


def _expect_exited(status: pb.ContainerStatus) -> None:
    expect(status.state == pb.CONTAINER_EXITED, "it has EXITED", wanted=2, got=status.state)


@case("CRI-CT-025", "CRI v1 StopContainer: a grace period", needs=[IMAGE])
def test_one_that_obeys_ends_within_its_grace(cri: CriTarget) -> None:
    """The call returns when it has ended, not when the time is over."""
    container = cri.pods.shared().run().settle()
    began = time.monotonic()
    container.stop(10)
    took = time.monotonic() - began
    status = container.status()
    _expect_exited(status)
    expect(took < timeout(10), "it took less than its grace", wanted="< 10 s", got=f"{took:.1f} s")
    expect(status.exit_code == 0, "its own exit code is told", wanted=0, got=status)


@case("CRI-CT-026", "CRI v1 StopContainer: killed after its grace", needs=[IMAGE])
def test_one_that_does_not_listen_is_killed_after_its_grace(cri: CriTarget) -> None:
    """Not before, and not never."""
    container = cri.pods.shared().run(command=STUBBORN).settle()
    began = time.monotonic()
    container.stop(1)
    took = time.monotonic() - began
    status = container.status()
    _expect_exited(status)
    expect(took >= 1, "it had its grace", wanted=">= 1 s", got=f"{took:.2f} s")
    expect(status.exit_code == _KILLED, "it was killed", wanted=_KILLED, got=status)


@case("CRI-CT-027", "CRI v1 StopContainerRequest.timeout: 0 is at once", needs=[IMAGE])
def test_no_grace_is_a_kill(cri: CriTarget) -> None:
    """Whoever deletes a pod by force does not wait."""
    container = cri.pods.shared().run(command=STUBBORN)
    container.stop(0)
    status = container.status()
    _expect_exited(status)
    expect(status.exit_code == _KILLED, "it was killed", wanted=_KILLED, got=status)


@case("CRI-CT-028", "CRI v1 StopContainer is idempotent", needs=[IMAGE])
def test_what_has_exited_may_be_stopped_and_stays_as_it_is(cri: CriTarget) -> None:
    """How it ended is not told by whoever stops it afterwards."""
    container = cri.pods.shared().run(command=("/bin/sh", "-c", "exit 5"))
    before = container.ended()
    expect_status(lambda: container.stop(5), {Code.OK}, "stopping it succeeds")
    after = container.status()
    expect(after == before, "its status is as before", wanted=before, got=after)


@case("CRI-CT-029", "containerd, CRI-O: there is nothing to stop yet", needs=[IMAGE])
def test_what_was_not_started_may_be_stopped(cri: CriTarget) -> None:
    """Kubelet stops all containers of a pod, also one whose start was given up."""
    container = cri.pods.shared().create()
    expect_status(lambda: container.stop(5), {Code.OK}, "stopping it succeeds")
    state = container.status().state
    expect(state == pb.CONTAINER_CREATED, "it stays CREATED", wanted=0, got=state)


@case("CRI-CT-030", "CRI v1 StopContainer: no error where it is gone")
def test_an_unknown_container_counts_as_stopped(cri: CriTarget) -> None:
    """Kubelet would try for ever."""
    id = cri.pods.unknown_id()
    expect_status(lambda: cri.kubelet.stop_container(id, 1), {Code.OK}, "stopping it succeeds")


@case("CRI-CT-031", "CRI v1 ContainerConfig.stop_signal: before that of the image", needs=[IMAGE])
def test_the_signal_is_the_one_of_the_configuration(cri: CriTarget) -> None:
    """Programs that end cleanly on another signal say so."""
    pod = cri.pods.shared()
    request = pod.request(command=shell('"exit 4" USR1'))
    request.config.stop_signal = pb.SIGNAL_SIGUSR1
    container = pod.ask(request)
    container.start()
    container.settle().stop(10)
    status = container.status()
    expect(status.exit_code == 4, "it got SIGUSR1, and ended by itself", wanted=4, got=status)
