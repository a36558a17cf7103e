"""What kubelet does with a runtime besides starting pods, in its order."""

from __future__ import annotations

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.kubelet import (
    RemoteRuntime,
    collect,
    container_config,
    kill_pod,
    lacking,
    probe,
    relist,
    sandbox_config,
    start_pod,
    start_up,
)
from refimpl.wire.journal import Entry
from refimpl.wire.status import Code, Refused
from tests.cri.kubelet.conftest import Serving

IMAGE = "example.com/a:1"


def test_a_kubelet_starts_up(runtime: RemoteRuntime, calls: list[Entry]) -> None:
    """Version was the first call, by which it connects."""
    assert [each.type for each in start_up(runtime).conditions] == ["RuntimeReady", "NetworkReady"]
    order = ["Version", "ImageFsInfo", "RuntimeConfig", "Version", "Status"]
    assert [call.rpc for call in calls] == order


@pytest.mark.parametrize(("code", "goes_on"), [("UNIMPLEMENTED", True), ("UNAVAILABLE", False)])
def test_a_runtime_may_be_too_old_for_runtime_config(
    serving: Serving, code: str, goes_on: bool
) -> None:
    """Kubelet has a cgroup driver of its own for those; for others it does not start."""
    faults = f"- {{when: {{method: RuntimeConfig}}, do: {{status: {{code: {code}}}}}}}"
    runtime = serving(faults)
    if goes_on:
        assert start_up(runtime).conditions
        return
    with pytest.raises(Refused) as caught:
        start_up(runtime)
    assert caught.value.code == Code.UNAVAILABLE


def test_a_look_sees_pods_with_kubelets_labels(runtime: RemoteRuntime) -> None:
    """The newest sandbox comes first; what bears no labels is nobody's pod."""
    old = start_pod(runtime, sandbox_config("pod", uid="uid-1"))
    runtime.stop_pod_sandbox(old.sandbox.id)
    new = start_pod(
        runtime, sandbox_config("pod", uid="uid-1", attempt=1), [container_config("main", IMAGE)]
    )
    start_pod(runtime, sandbox_config("other", uid="uid-2"))
    start_pod(runtime, sandbox_config("nobody", labels={}))
    assert {pod.uid for pod in relist(runtime)} == {"uid-1", "uid-2"}
    (pod,) = relist(runtime, "uid-1")
    assert [each.id for each in pod.sandboxes] == [new.sandbox.id, old.sandbox.id]
    assert [each.id for each in pod.containers] == list(new.containers.values())


def test_a_probe_succeeds_by_its_exit_code_and_in_time(serving: Serving) -> None:
    """A command that takes too long has failed; a container that is gone is an error."""
    runtime = serving()
    pod = start_pod(runtime, sandbox_config("pod"), [container_config("main", IMAGE)])
    main = pod.containers["main"]
    assert probe(runtime, main, ("true",))
    assert not probe(runtime, main, ("sh", "-c", "exit 3"))
    assert not probe(runtime, main, ("sleep", "60"))
    with pytest.raises(Refused) as caught:
        probe(runtime, "gone", ("true",))
    assert caught.value.code == Code.NOT_FOUND


def test_a_kill_leaves_what_is_collected_later(runtime: RemoteRuntime) -> None:
    """The status of a pod that has ended can be read until then; other namespaces stay."""
    containers = [container_config("main", IMAGE, command=("true",))]
    pod = start_pod(runtime, sandbox_config("pod", "one"), containers)
    other = start_pod(runtime, sandbox_config("pod", "two"))
    (killed,) = kill_pod(runtime, pod.sandbox.id, 0)
    assert runtime.container_status(killed.id).status.state == pb.CONTAINER_EXITED
    assert runtime.pod_sandbox_status(pod.sandbox.id).status.state == pb.SANDBOX_NOTREADY
    assert collect(runtime, "one") == [pod.sandbox.id]
    assert [each.id for each in runtime.list_pod_sandboxes()] == [other.sandbox.id]
    assert collect(runtime, "one") == []


def test_what_kubelet_demands_of_replies() -> None:
    """It looks at these members before it uses anything else; a missing status passes."""
    assert lacking("RunPodSandbox", pb.RunPodSandboxResponse()) == ["pod_sandbox_id"]
    image = pb.ImageStatusResponse(image=pb.Image(id="sha256:1"))
    assert lacking("ImageStatus", image) == ["image.size"]
    assert lacking("ImageStatus", pb.ImageStatusResponse()) == []
    assert lacking("PodSandboxStatus", pb.PodSandboxStatusResponse()) == []
    one = pb.StatusResponse(status=pb.RuntimeStatus(conditions=[pb.RuntimeCondition()]))
    assert lacking("Status", one) == ["status.conditions (two at least)"]
    assert lacking("ListImages", pb.ListImagesResponse()) == []
