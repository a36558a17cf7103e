"""Statistics of containers and sandboxes, as their process models tell."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.codec import containers, sandboxes
from refimpl.cri.codec.filters import wanted
from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import Container, ContainerState, Sandbox, SandboxState, Wanted
from refimpl.cri.state.ports import Usage
from refimpl.wire.server import Call

__all__ = ["StatsRpcs"]

_RUNNING = int(ContainerState.RUNNING)


class StatsRpcs:
    """The statistics of RuntimeService."""

    def __init__(self, state: RuntimeState) -> None:
        self._state, self._choices = state, state.settings.stats

    def ContainerStats(
        self, request: pb.ContainerStatsRequest, call: Call
    ) -> pb.ContainerStatsResponse:
        """Of a container in any state; one that does not run uses nothing."""
        container = self._state.containers.get(request.container_id)
        if self._choices.stopped == "refused":
            self._state.containers.running(container.id, "has statistics")
        return pb.ContainerStatsResponse(stats=self._container(container))

    def ListContainerStats(
        self, request: pb.ListContainerStatsRequest, call: Call
    ) -> pb.ListContainerStatsResponse:
        """Of those that run and that all of the filter fits."""
        every = self._choices.listed == "all"
        listed = [
            each
            for each in self._state.containers.select(wanted(request.filter))
            if every or each.state is ContainerState.RUNNING
        ]
        return pb.ListContainerStatsResponse(stats=[self._container(each) for each in listed])

    def PodSandboxStats(
        self, request: pb.PodSandboxStatsRequest, call: Call
    ) -> pb.PodSandboxStatsResponse:
        """Of a sandbox, and of what runs in it."""
        sandbox = self._state.sandboxes.get(request.pod_sandbox_id)
        return pb.PodSandboxStatsResponse(stats=self._sandbox(sandbox))

    def ListPodSandboxStats(
        self, request: pb.ListPodSandboxStatsRequest, call: Call
    ) -> pb.ListPodSandboxStatsResponse:
        """Of those that are READY and that all of the filter fits."""
        listed = [
            each
            for each in self._state.sandboxes.select(wanted(request.filter))
            if each.state is SandboxState.READY
        ]
        return pb.ListPodSandboxStatsResponse(stats=[self._sandbox(each) for each in listed])

    def _container(self, container: Container, known: Usage | None = None) -> pb.ContainerStats:
        now, usage = self._state.now(), known or self._usage(container)
        return pb.ContainerStats(
            attributes=containers.attributes(container),
            cpu=_cpu(now, usage),
            memory=_memory(now, usage, _limit(container)),
            writable_layer=pb.FilesystemUsage(
                timestamp=now, used_bytes=pb.UInt64Value(value=usage.written)
            ),
        )

    def _sandbox(self, sandbox: Sandbox) -> pb.PodSandboxStats:
        running = self._state.containers.select(Wanted(sandbox_id=sandbox.id, state=_RUNNING))
        usages = [self._usage(each) for each in running]
        total = Usage(
            cpu_ns=sum(each.cpu_ns for each in usages),
            memory=sum(each.memory for each in usages),
            processes=sum(each.processes for each in usages),
        )
        now = self._state.now()
        return pb.PodSandboxStats(
            attributes=sandboxes.attributes(sandbox),
            linux=pb.LinuxPodSandboxStats(
                cpu=_cpu(now, total),
                memory=_memory(now, total),
                network=_network(now, sandbox),
                process=pb.ProcessUsage(
                    timestamp=now, process_count=pb.UInt64Value(value=total.processes)
                ),
                containers=[
                    self._container(each, usage)
                    for each, usage in zip(running, usages, strict=True)
                ],
            ),
        )

    def _usage(self, container: Container) -> Usage:
        return self._state.processes(container.handler).usage(container)


def _cpu(now: int, usage: Usage) -> pb.CpuUsage:
    return pb.CpuUsage(timestamp=now, usage_core_nano_seconds=pb.UInt64Value(value=usage.cpu_ns))


def _memory(now: int, usage: Usage, limit: int = 0) -> pb.MemoryUsage:
    """What is available is what is left of a limit; nothing is told of it without one."""
    memory = pb.MemoryUsage(timestamp=now, working_set_bytes=pb.UInt64Value(value=usage.memory))
    if limit > 0:
        memory.available_bytes.value = max(0, limit - usage.memory)
    return memory


def _limit(container: Container) -> int:
    return int(getattr(container.resources, "memory_limit_in_bytes", 0))


def _network(now: int, sandbox: Sandbox) -> pb.NetworkUsage | None:
    """Of a network of its own; nothing has passed through it."""
    if sandbox.host_network:
        return None
    none = pb.UInt64Value(value=0)
    interface = pb.NetworkInterfaceUsage(name="eth0", rx_bytes=none, tx_bytes=none)
    return pb.NetworkUsage(timestamp=now, default_interface=interface)
