"""Statistics: made up, but in proportion to the time a container has been running."""

from __future__ import annotations

from refimpl.cri import codec
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import Container, ContainerState, Sandbox, SandboxState, Wanted
from refimpl.wire.server import Call

__all__ = ["Stats"]

_IDLE = 100
"""One nanosecond of CPU is used in so many of running."""
_WORKING_SET = 1 << 20
_RUNNING = int(ContainerState.RUNNING)


class Stats:
    """The statistics of RuntimeService."""

    _state: RuntimeState

    def ContainerStats(
        self, request: pb.ContainerStatsRequest, call: Call
    ) -> pb.ContainerStatsResponse:
        """Of a container in any state; one that does not run uses nothing."""
        container = self._state.container(request.container_id)
        return pb.ContainerStatsResponse(stats=self._container(container))

    def ListContainerStats(
        self, request: pb.ListContainerStatsRequest, call: Call
    ) -> pb.ListContainerStatsResponse:
        """Of those that run and that all of the filter fits."""
        selected = codec.wanted(request.filter)
        containers = [
            each
            for each in self._state.containers(selected)
            if each.state is ContainerState.RUNNING
        ]
        return pb.ListContainerStatsResponse(stats=[self._container(each) for each in containers])

    def PodSandboxStats(
        self, request: pb.PodSandboxStatsRequest, call: Call
    ) -> pb.PodSandboxStatsResponse:
        """Of a sandbox, and of what runs in it."""
        sandbox = self._state.sandbox(request.pod_sandbox_id)
        return pb.PodSandboxStatsResponse(stats=self._sandbox(sandbox))

    def ListPodSandboxStats(
        self, request: pb.ListPodSandboxStatsRequest, call: Call
    ) -> pb.ListPodSandboxStatsResponse:
        """Of those that are READY and that all of the filter fits."""
        sandboxes = [
            each
            for each in self._state.sandboxes(codec.wanted(request.filter))
            if each.state is SandboxState.READY
        ]
        return pb.ListPodSandboxStatsResponse(stats=[self._sandbox(each) for each in sandboxes])

    def _container(self, container: Container) -> pb.ContainerStats:
        now = self._state.now()
        running = container.state is ContainerState.RUNNING
        used = (now - container.started_at) // _IDLE if running else 0
        return pb.ContainerStats(
            attributes=pb.ContainerAttributes(
                id=container.id,
                metadata=codec.container_metadata(container.key),
                labels=container.labels,
                annotations=container.config.annotations,
            ),
            cpu=_cpu(now, used),
            memory=_memory(now, int(running)),
            writable_layer=pb.FilesystemUsage(timestamp=now, used_bytes=pb.UInt64Value(value=0)),
        )

    def _sandbox(self, sandbox: Sandbox) -> pb.PodSandboxStats:
        running = self._state.containers(Wanted(sandbox_id=sandbox.id, state=_RUNNING))
        containers = [self._container(each) for each in running]
        now = self._state.now()
        used = sum(each.cpu.usage_core_nano_seconds.value for each in containers)
        return pb.PodSandboxStats(
            attributes=pb.PodSandboxAttributes(
                id=sandbox.id,
                metadata=codec.sandbox_metadata(sandbox.key),
                labels=sandbox.labels,
                annotations=sandbox.config.annotations,
            ),
            linux=pb.LinuxPodSandboxStats(
                cpu=_cpu(now, used),
                memory=_memory(now, len(containers)),
                process=pb.ProcessUsage(
                    timestamp=now, process_count=pb.UInt64Value(value=len(containers))
                ),
                containers=containers,
            ),
        )


def _cpu(now: int, used: int) -> pb.CpuUsage:
    return pb.CpuUsage(timestamp=now, usage_core_nano_seconds=pb.UInt64Value(value=used))


def _memory(now: int, processes: int) -> pb.MemoryUsage:
    return pb.MemoryUsage(
        timestamp=now, working_set_bytes=pb.UInt64Value(value=processes * _WORKING_SET)
    )
