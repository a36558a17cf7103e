"""Statistics over the socket."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith
from tests.cri.runtime_rig import RuntimeRig, container_config


def test_those_that_run_are_listed(rig: RuntimeRig) -> None:
    """CRI-ST: with attributes by which kubelet finds the pod; the filter holds as well."""
    sandbox = rig.sandbox()
    run = rig.run(sandbox)
    rig.create(sandbox, container_config("two"))
    (stats,) = rig.runtime.ListContainerStats(pb.ListContainerStatsRequest()).stats
    assert (stats.attributes.id, stats.attributes.metadata.name) == (run, "main")
    assert dict(stats.attributes.labels) == dict(container_config().labels)
    nothing = pb.ContainerStatsFilter(pod_sandbox_id="unknown")
    request = pb.ListContainerStatsRequest(filter=nothing)
    assert not rig.runtime.ListContainerStats(request).stats


def test_usage_grows_while_a_container_runs(rig: RuntimeRig) -> None:
    """Kubelet makes rates of it."""
    request = pb.ContainerStatsRequest(container_id=rig.run(rig.sandbox()))
    first, second = (rig.runtime.ContainerStats(request).stats for _ in range(2))
    assert 0 < first.cpu.timestamp < second.cpu.timestamp
    used = [each.cpu.usage_core_nano_seconds.value for each in (first, second)]
    assert 0 < used[0] < used[1]
    assert first.memory.working_set_bytes.value > 0


def test_what_does_not_run_uses_nothing(rig: RuntimeRig, refused: RefusedWith) -> None:
    """And what does not exist has no statistics."""
    request = pb.ContainerStatsRequest(container_id=rig.create(rig.sandbox()))
    stats = rig.runtime.ContainerStats(request).stats
    assert stats.cpu.usage_core_nano_seconds.value == 0
    assert stats.memory.working_set_bytes.value == 0
    with refused(Code.NOT_FOUND):
        rig.runtime.ContainerStats(pb.ContainerStatsRequest(container_id="unknown"))
    with refused(Code.NOT_FOUND):
        rig.runtime.PodSandboxStats(pb.PodSandboxStatsRequest(pod_sandbox_id="unknown"))


def test_a_sandbox_uses_what_its_containers_use(rig: RuntimeRig) -> None:
    """CRI-ST: the containers are in it, and only READY ones are listed."""
    sandbox, stopped = rig.sandbox(), rig.sandbox("other")
    rig.run(sandbox)
    rig.cri.stop_pod_sandbox(stopped)
    (listed,) = rig.runtime.ListPodSandboxStats(pb.ListPodSandboxStatsRequest()).stats
    request = pb.PodSandboxStatsRequest(pod_sandbox_id=sandbox)
    for stats in (listed, rig.runtime.PodSandboxStats(request).stats):
        assert (stats.attributes.id, stats.attributes.metadata.name) == (sandbox, "pod")
        (container,) = stats.linux.containers
        assert stats.linux.cpu.usage_core_nano_seconds == container.cpu.usage_core_nano_seconds
        assert stats.linux.process.process_count.value == 1


def test_what_is_left_of_a_limit_and_the_network_are_told(rig: RuntimeRig) -> None:
    """CRI-ST: neither where there is none."""
    sandbox = rig.sandbox()
    config = container_config("limited")
    config.linux.resources.memory_limit_in_bytes = 64 << 20
    rig.run(sandbox, config)
    rig.run(sandbox)
    request = pb.PodSandboxStatsRequest(pod_sandbox_id=sandbox)
    stats = rig.runtime.PodSandboxStats(request).stats.linux
    limited, free = stats.containers
    left = limited.memory.available_bytes.value + limited.memory.working_set_bytes.value
    assert (left, free.memory.HasField("available_bytes")) == (64 << 20, False)
    assert stats.network.default_interface.name == "eth0"
    alone = rig.sandbox("node", host_network=True)
    request = pb.PodSandboxStatsRequest(pod_sandbox_id=alone)
    assert not rig.runtime.PodSandboxStats(request).stats.linux.HasField("network")
