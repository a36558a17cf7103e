"""Containers, from create to remove."""

from __future__ import annotations

from refimpl.cri import codec
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.services.verbose import info
from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import ContainerState
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

__all__ = ["Containers"]


class Containers:
    """The container half of RuntimeService."""

    _state: RuntimeState

    def CreateContainer(
        self, request: pb.CreateContainerRequest, call: Call
    ) -> pb.CreateContainerResponse:
        """Nothing runs yet."""
        config = request.config
        container = self._state.create(
            request.pod_sandbox_id,
            codec.container_key(config.metadata),
            image=config.image.image,
            config=config,
            labels=config.labels,
            log_path=codec.log_path(request.sandbox_config, config),
            resources=config.linux.resources,
        )
        return pb.CreateContainerResponse(container_id=container.id)

    def StartContainer(
        self, request: pb.StartContainerRequest, call: Call
    ) -> pb.StartContainerResponse:
        """It runs until it is stopped, or told to end from outside."""
        self._state.start(request.container_id)
        return pb.StartContainerResponse()

    def StopContainer(
        self, request: pb.StopContainerRequest, call: Call
    ) -> pb.StopContainerResponse:
        """At once, as there is no process that could take its time."""
        self._state.stop(request.container_id, request.timeout)
        return pb.StopContainerResponse()

    def RemoveContainer(
        self, request: pb.RemoveContainerRequest, call: Call
    ) -> pb.RemoveContainerResponse:
        """Also one that runs."""
        self._state.remove(request.container_id)
        return pb.RemoveContainerResponse()

    def ListContainers(
        self, request: pb.ListContainersRequest, call: Call
    ) -> pb.ListContainersResponse:
        """Those that all of the filter fits."""
        containers = self._state.containers(codec.wanted(request.filter))
        return pb.ListContainersResponse(
            containers=[codec.container_out(each) for each in containers]
        )

    def ContainerStatus(
        self, request: pb.ContainerStatusRequest, call: Call
    ) -> pb.ContainerStatusResponse:
        """With the log's whole path, though nothing is written there."""
        container = self._state.container(request.container_id)
        return pb.ContainerStatusResponse(
            status=codec.container_status(container),
            info=info(request.verbose, container.config),
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
            return changed

        self._state.update(request.container_id, change)
        return pb.UpdateContainerResourcesResponse()

    def ReopenContainerLog(
        self, request: pb.ReopenContainerLogRequest, call: Call
    ) -> pb.ReopenContainerLogResponse:
        """No log is written, so that none has to be opened; only of a container that runs."""
        container = self._state.container(request.container_id)
        if container.state is not ContainerState.RUNNING:
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"container {container.id} is {container.state.name}: only a running one has an"
                " open log",
            )
        return pb.ReopenContainerLogResponse()
