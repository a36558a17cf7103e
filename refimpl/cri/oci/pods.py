"""What is known of pods whatever their handler: who holds their namespaces, what runs in them."""

from __future__ import annotations

import threading

import attrs

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.oci.config.namespaces import Shared
from refimpl.cri.state.models import Container, Sandbox
from refimpl.wire.status import Code, Refused

__all__ = ["Pod", "Pods"]


@attrs.define(eq=False)
class Pod:
    """pid: of the process that holds its namespaces. pids: of the first processes of its
    containers that run, by id."""

    sandbox: Sandbox
    pid: int
    pids: dict[str, int] = attrs.field(factory=dict)

    def shared(self, container: Container) -> Shared:
        """What one of its containers joins. INVALID_ARGUMENT for a target that does not run in
        the pod (CRI NamespaceOption.target_id)."""
        options = container.config.linux.security_context.namespace_options
        target = 0
        if options.pid == pb.TARGET:
            target = self.pids.get(options.target_id, 0)
            if not target:
                raise Refused(
                    Code.INVALID_ARGUMENT,
                    f"target_id {options.target_id!r} is no running container of sandbox"
                    f" {self.sandbox.id}: a process namespace can be joined of such a one alone",
                )
        return Shared(self.pid, self.sandbox.netns, target)


class Pods:
    """Those that are there, by the id of their sandbox."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        self._lock = threading.Lock()

    def add(self, sandbox: Sandbox, pid: int) -> None:
        """It has begun."""
        with self._lock:
            self._pods[sandbox.id] = Pod(sandbox, pid)

    def forget(self, sandbox: Sandbox) -> None:
        """It is gone."""
        with self._lock:
            self._pods.pop(sandbox.id, None)

    def of(self, container: Container) -> Pod:
        """The one that a container is in; FAILED_PRECONDITION once that is gone."""
        pod = self._pods.get(container.sandbox_id)
        if pod is None:
            raise Refused(
                Code.FAILED_PRECONDITION, f"sandbox {container.sandbox_id} is gone already"
            )
        return pod

    def started(self, container: Container, pid: int) -> None:
        """Its first process runs."""
        self.of(container).pids[container.id] = pid

    def ended(self, container: Container) -> None:
        """It does not run any more."""
        pod = self._pods.get(container.sandbox_id)
        if pod is not None:
            pod.pids.pop(container.id, None)
