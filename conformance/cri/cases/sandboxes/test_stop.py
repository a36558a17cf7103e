"""StopPodSandbox."""

from __future__ import annotations

from conformance.cri.needs import IMAGE
from conformance.cri.pods import STUBBORN
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code


@case("CRI-SB-042", "CRI v1 StopPodSandbox")
def test_a_stopped_sandbox_is_not_ready_and_still_listed(cri: CriTarget) -> None:
    """Kubelet removes it later, when its logs have been read."""
    pod = cri.pods.run()
    pod.stop()
    item = pod.listed()
    states = (pod.status().state, item.state if item else None)
    wanted = (pb.SANDBOX_NOTREADY, pb.SANDBOX_NOTREADY)
    expect(states == wanted, "status and list tell NOTREADY", wanted=wanted, got=states)


@case("CRI-SB-043", "CRI v1 StopPodSandbox is idempotent")
def test_a_sandbox_may_be_stopped_again(cri: CriTarget) -> None:
    """Kubelet stops each sandbox several times."""
    pod = cri.pods.run()
    pod.stop()
    expect_status(pod.stop, {Code.OK}, "a second StopPodSandbox succeeds")
    state = pod.status().state
    expect(state == pb.SANDBOX_NOTREADY, "it is NOTREADY", wanted=1, got=state)


@case("CRI-SB-044", "CRI v1 StopPodSandbox: no error where the sandbox is gone")
def test_an_unknown_sandbox_counts_as_stopped(cri: CriTarget) -> None:
    """Kubelet would try for ever."""
    id = cri.pods.unknown_id()
    expect_status(lambda: cri.kubelet.stop_pod_sandbox(id), {Code.OK}, "stopping it succeeds")


@case("CRI-SB-045", "containerd, CRI-O: an empty id is a mistake of the caller")
def test_an_empty_id_stops_nothing(cri: CriTarget) -> None:
    """It is the beginning of every id."""
    pod = cri.pods.run()
    expect_refusal(lambda: cri.kubelet.stop_pod_sandbox(""), "an empty id is refused")
    state = pod.status().state
    expect(state == pb.SANDBOX_READY, "other sandboxes stay READY", wanted=0, got=state)


@case("CRI-SB-046", "CRI v1 StopPodSandbox: containers are forcibly terminated", needs=[IMAGE])
def test_all_containers_end_with_their_sandbox(cri: CriTarget) -> None:
    """Also one that does not listen to SIGTERM."""
    pod = cri.pods.run()
    containers = [pod.run(), pod.run(), pod.run(command=STUBBORN)]
    pod.stop()
    states = [each.status().state for each in containers]
    wanted = [pb.CONTAINER_EXITED] * 3
    expect(states == wanted, "each of them has EXITED", wanted=wanted, got=states)


@case("CRI-SB-048", "containerd, CRI-O: containers are made in READY sandboxes", needs=[IMAGE])
def test_a_stopped_sandbox_takes_no_more_containers(cri: CriTarget) -> None:
    """It would have neither network nor namespaces."""
    pod = cri.pods.run()
    pod.stop()
    expect_refusal(pod.create, "CreateContainer in a stopped sandbox is refused")


@case("CRI-SB-049", "containerd, CRI-O: containers run in READY sandboxes", needs=[IMAGE])
def test_a_container_does_not_start_in_a_stopped_sandbox(cri: CriTarget) -> None:
    """Kubelet and a stop by hand may overtake each other."""
    pod = cri.pods.run()
    container = pod.create()
    pod.stop()
    expect_refusal(container.start, "StartContainer in a stopped sandbox is refused")
    state = container.status().state
    expect(state != pb.CONTAINER_RUNNING, "it does not run", wanted="not RUNNING", got=state)


@case("CRI-SB-050", "kubelet reads exit codes after the sandbox has been stopped", needs=[IMAGE])
def test_containers_of_a_stopped_sandbox_still_have_a_status(cri: CriTarget) -> None:
    """How a job ended is told by its status."""
    pod = cri.pods.run()
    container = pod.run(command=("/bin/sh", "-c", "exit 7"))
    container.ended()
    pod.stop()
    status = container.status()
    expect(status.exit_code == 7, "its exit code is still told", wanted=7, got=status)
