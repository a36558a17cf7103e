"""The order in which a pod is made, ended and removed."""

from __future__ import annotations

import threading

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.kubelet import (
    RemoteRuntime,
    container_config,
    end_pod,
    remove_pod,
    sandbox_config,
    start_pod,
    wait_container,
)
from refimpl.wire.journal import Entry
from refimpl.wire.status import Code, Refused
from tests.cri.kubelet.conftest import Serving

IMAGE = "example.com/a:1"


def test_a_pod_starts_in_kubelets_order(serving: Serving, calls: list[Entry]) -> None:
    """The sandbox and its addresses, then one container after the other; pulled is what is not
    there, and created from what the runtime calls it."""
    runtime = serving("- {when: {method: ImageStatus, times: 1}, do: {mutate: {image: null}}}")
    config = sandbox_config("pod", uid="uid-1", log_directory="/logs")
    containers = [container_config(name, IMAGE, log_path=name) for name in ("first", "second")]
    pod = start_pod(runtime, config, containers)
    created = ["CreateContainer", "StartContainer"]
    assert [call.rpc for call in calls[1:]] == [
        *("RunPodSandbox", "PodSandboxStatus"),
        *("ImageStatus", "PullImage", *created),
        *("ImageStatus", *created),
    ]
    assert pod.sandbox.network.ip
    assert list(pod.containers) == ["first", "second"]
    (image,) = runtime.list_images()
    status = runtime.container_status(pod.containers["second"]).status
    assert status.state == pb.CONTAINER_RUNNING
    assert (status.image_id, status.image.image, status.log_path) == (
        image.id,
        IMAGE,
        "/logs/second",
    )
    assert status.labels["io.kubernetes.pod.uid"] == "uid-1"
    assert status.labels["io.kubernetes.container.name"] == "second"
    assert containers[1] == container_config("second", IMAGE, log_path="second")


def test_a_pod_that_fails_to_start_leaves_what_it_has(serving: Serving) -> None:
    """As with kubelet, which tries the same sandbox again."""
    runtime = serving("- {when: {method: StartContainer}, do: {status: {code: ABORTED}}}")
    with pytest.raises(Refused) as caught:
        start_pod(runtime, sandbox_config("pod"), [container_config("main", IMAGE)])
    assert caught.value.code == Code.ABORTED
    (container,) = runtime.list_containers()
    assert container.state == pb.CONTAINER_CREATED


def test_a_pod_ends_in_kubelets_order(runtime: RemoteRuntime, calls: list[Entry]) -> None:
    """Containers that run have their grace; nothing is left."""
    containers = [container_config(name, IMAGE) for name in ("ended", "main")]
    pod = start_pod(runtime, sandbox_config("pod"), containers)
    runtime.stop_container(pod.containers["ended"], 0)
    calls.clear()
    end_pod(runtime, pod.sandbox.id, grace_s=0)
    assert [call.rpc for call in calls] == [
        *("ListContainers", "StopContainer", "StopPodSandbox"),
        *("RemoveContainer", "RemoveContainer", "RemovePodSandbox"),
    ]
    stop = calls[1].requests[0]
    assert isinstance(stop, pb.StopContainerRequest)
    assert (stop.container_id, stop.timeout) == (pod.containers["main"], 2)
    assert (runtime.list_pod_sandboxes(), runtime.list_containers()) == ([], [])


def test_a_pod_is_removed_by_its_uid(runtime: RemoteRuntime) -> None:
    """All attempts of it, and no other pod of its name."""
    for attempt in range(2):
        start_pod(runtime, sandbox_config("pod", uid="uid-1", attempt=attempt))
    other = start_pod(runtime, sandbox_config("pod", uid="uid-2"))
    assert remove_pod(runtime, "uid-1")
    assert not remove_pod(runtime, "uid-1")
    assert [sandbox.id for sandbox in runtime.list_pod_sandboxes()] == [other.sandbox.id]


def test_a_state_is_waited_for(runtime: RemoteRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status is the answer; where it does not come, the error tells which state there is."""
    pod = start_pod(runtime, sandbox_config("pod"), [container_config("main", IMAGE)])
    container_id = pod.containers["main"]
    ending = threading.Timer(0.05, runtime.stop_container, (container_id, 10))
    ending.start()
    try:
        status = wait_container(runtime, container_id, pb.CONTAINER_EXITED)
    finally:
        ending.join()
    assert status.exit_code == 143
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.001")
    with pytest.raises(TimeoutError, match="CONTAINER_EXITED, not CONTAINER_RUNNING"):
        wait_container(runtime, container_id, pb.CONTAINER_RUNNING)
