"""Containers over the socket."""

from __future__ import annotations

import json

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith
from tests.cri.runtime_rig import IMAGE_ID, RuntimeRig, container_config, sandbox_config


def listed(rig: RuntimeRig, **wanted: object) -> list[str]:
    """Ids of the containers that a filter fits."""
    request = pb.ListContainersRequest(filter=pb.ContainerFilter(**wanted))  # type: ignore[arg-type]
    return [each.id for each in rig.runtime.ListContainers(request).containers]


def test_status_and_list_give_back_what_was_sent(rig: RuntimeRig) -> None:
    """CRI-CT-001, 002: and the image has one id, and the name that people know."""
    config = container_config(mounts=[pb.Mount(container_path="/a", host_path="/")])
    sandbox = rig.sandbox()
    container_id = rig.create(sandbox, config, "/logs/pod")
    (item,) = rig.cri.list_containers()
    status = rig.status(container_id)
    for shown in (status, item):
        assert (shown.id, shown.metadata, shown.state) == (container_id, config.metadata, 0)
        assert dict(shown.labels) == dict(config.labels)
        assert dict(shown.annotations) == dict(config.annotations)
        assert (shown.image_ref, shown.image_id) == (IMAGE_ID, IMAGE_ID)
        assert shown.image.image == "example.com/a:1"
    assert item.pod_sandbox_id == sandbox
    assert (status.log_path, list(status.mounts)) == ("/logs/pod/main/0.log", list(config.mounts))
    assert (status.started_at, status.finished_at) == (0, 0)


@pytest.mark.parametrize(("timeout", "code"), [(10, 143), (0, 137)])
def test_a_stopped_container_has_a_code_and_times(rig: RuntimeRig, timeout: int, code: int) -> None:
    """CRI-CT-021: as of a process that obeys, or is killed."""
    container_id = rig.run(rig.sandbox())
    assert rig.status(container_id).state == pb.CONTAINER_RUNNING
    rig.cri.stop_container(container_id, timeout)
    status = rig.status(container_id)
    assert (status.state, status.exit_code) == (pb.CONTAINER_EXITED, code)
    assert 10**18 < status.created_at < status.started_at < status.finished_at


def test_filters_are_by_id_state_sandbox_and_labels(rig: RuntimeRig) -> None:
    """CREATED is 0, and a state all the same."""
    sandbox, other = rig.sandbox("a"), rig.sandbox("b")
    running, unstarted = rig.run(sandbox, container_config("one")), rig.create(other)
    created = pb.ContainerStateValue(state=pb.CONTAINER_CREATED)
    assert listed(rig) == [running, unstarted]
    assert listed(rig, id=running) == [running]
    assert listed(rig, state=created) == [unstarted]
    assert listed(rig, pod_sandbox_id=sandbox) == [running]
    assert listed(rig, label_selector={"io.kubernetes.container.name": "one"}) == [running]
    assert listed(rig, pod_sandbox_id=sandbox, state=created) == []


def test_details_are_json_and_only_on_demand(rig: RuntimeRig) -> None:
    """CDI devices and all else that kubelet sent can be read there."""
    config = container_config(cdi_devices=["example.com/gpu=0"])
    container_id = rig.create(rig.sandbox(), config)
    info = json.loads(rig.cri.container_status(container_id, verbose=True).info["info"])
    assert info["config"]["CDI_devices"] == [{"name": "example.com/gpu=0"}]
    assert not rig.cri.container_status(container_id).info


def test_what_is_zero_in_an_update_stays_as_it_was(rig: RuntimeRig) -> None:
    """Kubelet compares the status with what it asked for; a list replaces a list."""
    pages = [pb.HugepageLimit(page_size="2MB", limit=1)]
    first = pb.LinuxContainerResources(cpu_shares=5, cpu_quota=7, hugepage_limits=pages)
    config = container_config()
    config.linux.resources.CopyFrom(first)
    container_id = rig.run(rig.sandbox(), config)
    change = pb.LinuxContainerResources(cpu_quota=9, hugepage_limits=pages)
    rig.runtime.UpdateContainerResources(
        pb.UpdateContainerResourcesRequest(container_id=container_id, linux=change)
    )
    expected = pb.LinuxContainerResources(cpu_shares=5, cpu_quota=9, hugepage_limits=pages)
    assert rig.status(container_id).resources.linux == expected


def test_the_log_is_reopened_only_while_it_runs(rig: RuntimeRig, refused: RefusedWith) -> None:
    """Kubelet does so after a rotation, and also where it finds no log."""
    container_id = rig.create(rig.sandbox())
    request = pb.ReopenContainerLogRequest(container_id=container_id)
    with refused(Code.FAILED_PRECONDITION, "CREATED"):
        rig.runtime.ReopenContainerLog(request)
    rig.cri.start_container(container_id)
    assert rig.runtime.ReopenContainerLog(request) == pb.ReopenContainerLogResponse()


def test_a_container_without_a_directory_for_logs_has_none(rig: RuntimeRig) -> None:
    """A path that begins nowhere would be of no use."""
    sandbox = rig.sandbox()
    config = sandbox_config(log_directory="")
    request = pb.CreateContainerRequest(
        pod_sandbox_id=sandbox, config=container_config(), sandbox_config=config
    )
    container_id = rig.runtime.CreateContainer(request).container_id
    assert rig.status(container_id).log_path == ""


def test_remove_may_be_repeated(rig: RuntimeRig, refused: RefusedWith) -> None:
    """Also of one that runs; afterwards it is not found."""
    container_id = rig.run(rig.sandbox())
    for _ in range(2):
        rig.cri.remove_container(container_id)
    with refused(Code.NOT_FOUND, container_id):
        rig.status(container_id)
