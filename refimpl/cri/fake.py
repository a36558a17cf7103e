"""A whole container runtime: state, process models, services and socket put together."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import ClassVar, cast

from google.protobuf.descriptor import ServiceDescriptor

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.clocks import ManualClock, SystemClock
from refimpl.cri.control_routes import control_routes
from refimpl.cri.models import ModelChoices, open_model
from refimpl.cri.services import image_service, runtime_service
from refimpl.cri.state import Ports, RuntimeSettings, RuntimeState
from refimpl.cri.state.models import Container, Sandbox
from refimpl.cri.state.ports import Clock, Ids
from refimpl.cri.streams import StreamHost
from refimpl.cri.virtual.programs import Program, Scripts
from refimpl.wire.control import Route
from refimpl.wire.fake import Fake, Where
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal

__all__ = ["Container", "FakeRuntime", "ManualClock", "Program", "Sandbox"]

_SERVICES = pb.DESCRIPTOR.services_by_name


def _id() -> str:
    return secrets.token_hex(32)


class FakeRuntime(Fake):
    """A runtime for kubelet and other clients of CRI.

    `profile` (strict, containerd, crio, legacy-1.7) and `settings` (`topic.name` -> value) choose
    in what it differs, `model` what a container is: `virtual` has scripted programs, of which
    `scripts` says more (a glob of image or command line -> Program). `model_options` are a model's
    own, `state_dir` is where it keeps what it has. `handlers` are its runtime
    handlers, "" the default one. `images` are there from the start; others have to be pulled.
    `filesystem` is the path that ImageFsInfo names, which kubelet wants to exist.
    What it knows outlives `stop` and every kubelet. Raises ValueError for choices that do not
    exist.
    """

    socket_name: ClassVar[str] = "cri.sock"

    def __init__(
        self,
        endpoint: Where | None = None,
        *,
        profile: str = "strict",
        settings: Mapping[str, object] | None = None,
        model: str = "virtual",
        model_options: Mapping[str, str] | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        scripts: Scripts | None = None,
        handlers: Collection[str] = ("",),
        images: Iterable[str] = (),
        filesystem: str = "/",
        clock: Clock | None = None,
        ids: Ids = _id,
        faults: Faults | None = None,
        journal: Journal | Path | str | None = None,
        control: Where | None = None,
        allow_remote: bool = False,
    ) -> None:
        super().__init__(
            endpoint, faults=faults, journal=journal, control=control, allow_remote=allow_remote
        )
        self.settings = RuntimeSettings.of(profile).with_(**(settings or {}))
        self._system_clock = SystemClock()
        self.clock: Clock = clock or self._system_clock
        self._model = open_model(
            model,
            ModelChoices(
                clock=self.clock,
                scripts=scripts or {},
                handlers=tuple(dict.fromkeys(["", *handlers])),
                folder=None if state_dir is None else Path(state_dir),
                logs=self.settings.logs,
                mounts=self.settings.mounts,
                options=model_options or {},
            ),
        )
        self.state = RuntimeState(
            self.settings,
            Ports(
                clock=self.clock,
                ids=ids,
                handlers=self._model.handlers,
                network=self._model.network,
                images=self._model.images,
                logs=self._model.logs,
                info=self._model.info,
            ),
        )
        self._streams = StreamHost(self.state)
        for name in images:
            self.state.images.pull(name)
        self._filesystem = filesystem

    def services(self) -> Mapping[ServiceDescriptor, object]:
        """Both services of CRI, at one socket."""
        return {
            _SERVICES["RuntimeService"]: runtime_service(self.state, self._streams),
            _SERVICES["ImageService"]: image_service(self.state, self._filesystem),
        }

    def stop(self, grace_s: float = 1.0) -> None:
        """Ends calls and streams. Containers are there at the next start."""
        self._streams.close()
        super().stop(grace_s)

    def close(self) -> None:
        """Ends the fake for good, with all that its process model has started."""
        self.stop()
        self._model.close()
        self._system_clock.close()

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def routes(self) -> Mapping[str, Route]:
        """What its control socket answers besides journal and faults, by method and path."""
        return control_routes(self)

    # -- what happens by itself elsewhere ------------------------------------------------------

    def exit(self, container_id: str, status: int = 0, reason: str = "") -> None:
        """The container's process ends, with this exit code; kubelet sees it at its next look.

        Raises Refused for a container that is unknown or does not run.
        """
        self.state.containers.exit(container_id, status, reason)

    def reboot(self) -> None:
        """As after a reboot of the node: no sandbox and no container is there any more."""
        self.state.reboot()

    def set_ready(self, condition: str, reason: str = "", message: str = "") -> None:
        """RuntimeReady or NetworkReady does not hold any more, for that reason; without one it does
        again. Raises ValueError for another condition."""
        self.state.set_condition(condition, reason, message)

    # -- what kubelet made of pods -------------------------------------------------------------

    def sandboxes(self, pod_uid: str) -> list[Sandbox]:
        """The sandboxes of a pod, oldest first."""
        return [each for each in self.state.sandboxes.select() if each.key.uid == pod_uid]

    def containers(self, pod_uid: str) -> list[Container]:
        """The containers of a pod in whatever state, oldest first; removed ones are gone."""
        return [each for each in self.state.containers.select() if each.sandbox.uid == pod_uid]

    def configs(self, pod_uid: str, container_name: str) -> list[pb.ContainerConfig]:
        """What was sent with each CreateContainer of a container, oldest first.

        Those of removed containers are among them, also after a reboot.
        """
        return [
            cast(pb.ContainerConfig, each.config)
            for each in self.state.containers.created()
            if each.sandbox.uid == pod_uid and each.key.name == container_name
        ]
