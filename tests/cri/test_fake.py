"""The whole runtime: steering, and what outlives what."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state.models import ContainerState
from refimpl.wire.faults import Faults
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith
from tests.cri.runtime_rig import RuntimeRig, container_config


@pytest.fixture
def rig() -> Iterator[RuntimeRig]:
    """A runtime that serves."""
    with RuntimeRig() as rig:
        yield rig


def test_a_process_ends_with_the_status_that_it_is_told(
    rig: RuntimeRig, refused: RefusedWith
) -> None:
    """CRI-CT-019, 020: seen from outside as if it had ended by itself."""
    sandbox = rig.sandbox()
    for status, reason in ((0, "Completed"), (127, "Error")):
        container_id = rig.run(sandbox, container_config(attempt=status))
        rig.fake.exit(container_id, status)
        shown = rig.status(container_id)
        assert (shown.state, shown.exit_code) == (pb.CONTAINER_EXITED, status)
        assert shown.reason == reason
        assert shown.finished_at > shown.started_at
    with refused(Code.FAILED_PRECONDITION, "EXITED"):
        rig.fake.exit(container_id)


def test_a_process_may_end_for_a_reason(rig: RuntimeRig) -> None:
    """Such as the one that CRI gives to the lack of memory."""
    container_id = rig.run(rig.sandbox())
    rig.fake.exit(container_id, 137, "OOMKilled")
    assert rig.status(container_id).reason == "OOMKilled"


def test_configurations_of_a_container_are_kept_oldest_first(rig: RuntimeRig) -> None:
    """Also of attempts that are gone; those of other containers and pods are not among them."""
    sandbox, other = rig.sandbox("a"), rig.sandbox("b")
    sent = [container_config(attempt=attempt) for attempt in range(2)]
    for config in sent:
        container_id = rig.run(sandbox, config)
        rig.cri.remove_container(container_id)
    rig.create(sandbox, container_config("two"))
    rig.create(other)
    assert rig.fake.configs("uid-a", "main") == sent
    assert [each.key.name for each in rig.fake.containers("uid-a")] == ["two"]
    assert [each.id for each in rig.fake.sandboxes("uid-a")] == [sandbox]


def test_a_reboot_leaves_only_memories(rig: RuntimeRig) -> None:
    """Kubelet finds an empty runtime and makes the pods anew, of the same metadata."""
    rig.run(rig.sandbox())
    rig.fake.reboot()
    assert not rig.cri.list_pod_sandboxes()
    assert not rig.cri.list_containers()
    rig.run(rig.sandbox())
    assert rig.fake.configs("uid-pod", "main") == [container_config()] * 2


def test_containers_outlive_clients_and_the_server(tmp_path: Path) -> None:
    """A kubelet that comes back finds them as they were; so does one after a runtime restart."""
    rig = RuntimeRig(tmp_path / "cri.sock")
    with rig:
        container_id = rig.run(rig.sandbox())
    with rig:
        assert rig.status(container_id).state == pb.CONTAINER_RUNNING
        (container,) = rig.fake.containers("uid-pod")
        assert (container.id, container.state) == (container_id, ContainerState.RUNNING)


def test_every_call_is_in_the_journal_and_may_fail_on_demand(refused: RefusedWith) -> None:
    """As with every fake."""
    faults = Faults.from_yaml("- {when: {method: '*RunPodSandbox'}, do: {status: {code: ABORTED}}}")
    with RuntimeRig(faults=faults) as rig:
        with refused(Code.ABORTED):
            rig.sandbox()
        calls = [(entry.rpc, entry.code) for entry in rig.fake.journal.entries]
    assert calls == [("Version", Code.OK), ("RunPodSandbox", Code.ABORTED)]


def test_what_is_not_served_is_unimplemented(rig: RuntimeRig, refused: RefusedWith) -> None:
    """Kubelet asks cAdvisor where there are no metrics, and lists instead of streaming."""
    with refused(Code.UNIMPLEMENTED, "ListMetricDescriptors"):
        rig.runtime.ListMetricDescriptors(pb.ListMetricDescriptorsRequest())
    with refused(Code.UNIMPLEMENTED, "StreamPodSandboxMetrics"):
        list(rig.runtime.StreamPodSandboxMetrics(pb.StreamPodSandboxMetricsRequest()))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket and no directory; logs are promised and never written."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with RuntimeRig() as rig:
        rig.run(rig.sandbox())
        (folder,) = tmp_path.iterdir()
        assert [each.name for each in folder.iterdir()] == ["cri.sock"]
    assert list(tmp_path.iterdir()) == []
