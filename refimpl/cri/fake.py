"""A whole container runtime without a single process: state, services and socket put together."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import ClassVar, cast

from google.protobuf.descriptor import ServiceDescriptor

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.services import ImageService, RuntimeService
from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import Clock, Container, Ids, Sandbox
from refimpl.wire.fake import Fake, Where
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal

__all__ = ["Container", "FakeRuntime", "Sandbox"]

_SERVICES = pb.DESCRIPTOR.services_by_name


def _id() -> str:
    return secrets.token_hex(32)


class FakeRuntime(Fake):
    """A runtime for kubelet: containers are entries that run until stopped or told to `exit`.

    What it knows outlives `stop` and every kubelet. `handlers` are its runtime handlers, "" the
    default one; `filesystem` is the path that ImageFsInfo names, which kubelet wants to exist.
    """

    socket_name: ClassVar[str] = "cri.sock"

    def __init__(
        self,
        endpoint: Where | None = None,
        *,
        handlers: Collection[str] = ("",),
        filesystem: str = "/",
        clock: Clock = time.time_ns,
        ids: Ids = _id,
        faults: Faults | None = None,
        journal: Journal | Path | str | None = None,
        control: Where | None = None,
    ) -> None:
        super().__init__(endpoint, faults=faults, journal=journal, control=control)
        self.state = RuntimeState(clock=clock, ids=ids, handlers=handlers)
        self._filesystem = filesystem

    def services(self) -> Mapping[ServiceDescriptor, object]:
        """Both services of CRI, at one socket."""
        return {
            _SERVICES["RuntimeService"]: RuntimeService(self.state),
            _SERVICES["ImageService"]: ImageService(self.state, self._filesystem),
        }

    # -- what happens by itself elsewhere ------------------------------------------------------

    def exit(self, container_id: str, status: int = 0, reason: str = "") -> None:
        """The container's process ends, with this exit code; kubelet sees it at its next look.

        Raises Refused for a container that is unknown or does not run.
        """
        self.state.exit(container_id, status, reason)

    def reboot(self) -> None:
        """As after a reboot of the node: no sandbox and no container is there any more."""
        self.state.reboot()

    # -- what kubelet made of pods -------------------------------------------------------------

    def sandboxes(self, pod_uid: str) -> list[Sandbox]:
        """The sandboxes of a pod, oldest first."""
        return [each for each in self.state.sandboxes() if each.key.uid == pod_uid]

    def containers(self, pod_uid: str) -> list[Container]:
        """The containers of a pod in whatever state, oldest first; removed ones are gone."""
        return [each for each in self.state.containers() if each.sandbox.uid == pod_uid]

    def configs(self, pod_uid: str, container_name: str) -> list[pb.ContainerConfig]:
        """What was sent with each CreateContainer of a container, oldest first.

        Those of removed containers are among them, also after a reboot.
        """
        return [
            cast(pb.ContainerConfig, each.config)
            for each in self.state.created()
            if each.sandbox.uid == pod_uid and each.key.name == container_name
        ]
