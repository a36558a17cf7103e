"""Containers, from create to remove."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.checks import containers as checks
from refimpl.cri.checks import resources
from refimpl.cri.codec import containers as codec
from refimpl.cri.codec.filters import wanted
from refimpl.cri.services.verbose import info
from refimpl.cri.state import RuntimeState
from refimpl.wire.server import Call

__all__ = ["ContainerRpcs"]


class ContainerRpcs:
    """The container half of RuntimeService."""

    def __init__(self, state: RuntimeState) -> None:
        self._containers, self._choices = state.containers, state.settings

    def CreateContainer(
        self, request: pb.CreateContainerRequest, call: Call
    ) -> pb.CreateContainerResponse:
        """Nothing runs yet."""
        checks.check(request, self._choices.mounts)
        container = self._containers.create(codec.new(request))
        codec.prepared(container)  # now, so that the first list of many is as fast as any
        return pb.CreateContainerResponse(container_id=container.id)

    def StartContainer(
        self, request: pb.StartContainerRequest, call: Call
    ) -> pb.StartContainerResponse:
        """Runs its process; how long is up to the process model."""
        self._containers.start(request.container_id)
        return pb.StartContainerResponse()

    def StopContainer(
        self, request: pb.StopContainerRequest, call: Call
    ) -> pb.StopContainerResponse:
        """Its stop signal, and SIGKILL once its time is over; at once where it has none."""
        self._containers.stop(request.container_id, request.timeout, call)
        return pb.StopContainerResponse()

    def RemoveContainer(
        self, request: pb.RemoveContainerRequest, call: Call
    ) -> pb.RemoveContainerResponse:
        """Also one that runs."""
        self._containers.remove(request.container_id)
        return pb.RemoveContainerResponse()

    def ListContainers(
        self, request: pb.ListContainersRequest, call: Call
    ) -> pb.ListContainersResponse:
        """Those that all of the filter fits."""
        return codec.listed(self._containers.select(wanted(request.filter)))

    def ContainerStatus(
        self, request: pb.ContainerStatusRequest, call: Call
    ) -> pb.ContainerStatusResponse:
        """With the log's whole path."""
        container = self._containers.get(request.container_id)
        return pb.ContainerStatusResponse(
            status=codec.status(container, self._choices),
            info=info(request.verbose, container.config, pid=container.pid),
        )

    def UpdateContainerResources(
        self, request: pb.UpdateContainerResourcesRequest, call: Call
    ) -> pb.UpdateContainerResourcesResponse:
        """What is zero stays as it was."""

        def change(present: pb.LinuxContainerResources) -> pb.LinuxContainerResources:
            changed = pb.LinuxContainerResources()
            changed.MergeFrom(present)
            if request.linux.hugepage_limits:
                changed.ClearField("hugepage_limits")  # a list is taken as a whole
            changed.MergeFrom(request.linux)
            resources.check(changed)
            return changed

        self._containers.update(request.container_id, change)
        return pb.UpdateContainerResourcesResponse()

    def ReopenContainerLog(
        self, request: pb.ReopenContainerLogRequest, call: Call
    ) -> pb.ReopenContainerLogResponse:
        """Only of a container that runs."""
        self._containers.reopen_log(request.container_id)
        return pb.ReopenContainerLogResponse()
