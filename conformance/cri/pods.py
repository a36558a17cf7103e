"""Pods of a case: what it asks for in a word, and what it asks of what came of it."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs

from conformance.cri.record import Record
from conformance.engine.scope import Shared
from conformance.engine.verdict import eventually
from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

__all__ = ["FAILING", "STUBBORN", "WAITING", "ContainerUnderTest", "PodUnderTest", "Pods", "shell"]

RUN_LABEL = "refimpl.example/run"
"""Not kubelet's labels: a kubelet at the same runtime kills what bears its own."""

_READY = '"${TMPDIR:-/tmp}/refimpl-ready"'
"""A file of the container's own, also where a runtime gives it no file system."""


def shell(trap: str) -> tuple[str, ...]:
    """Waits for signals, of which that trap says what comes; see `ContainerUnderTest.settle`."""
    return "/bin/sh", "-c", f"trap {trap}; : > {_READY}; while :; do sleep 3600 & wait $!; done"


WAITING = shell('"exit 0" TERM')
"""Runs until it is told to end."""
STUBBORN = shell('"" TERM')
"""Does not listen to SIGTERM."""
FAILING = ("/nonexistent/refimpl",)
"""A program that is nowhere."""


@attrs.frozen
class ContainerUnderTest:
    """A container of a case, by its id and as it was asked for."""

    runtime: kubelet.RemoteRuntime = attrs.field(repr=False)
    id: str
    config: pb.ContainerConfig = attrs.field(repr=False)

    def start(self) -> None:
        """Raises Refused."""
        self.runtime.start_container(self.id)

    def settle(self) -> Self:
        """Itself, once a shell in it hears signals: a process is there before it has a handler.
        Where the runtime runs no commands there is nothing to wait for. Raises Broken, Refused."""
        try:
            eventually(self._ready, 20.0, "the shell in the container is ready")
        except Refused as refusal:
            if refusal.code != Code.UNIMPLEMENTED:
                raise
        return self

    def _ready(self) -> bool:
        return not self.runtime.exec_sync(self.id, ["/bin/sh", "-c", f"ls {_READY}"], 10).exit_code

    def runs(self, word: str) -> bool:
        """Whether a process in it has this word in its command line. Raises Refused."""
        pattern = f"{word[:-1]}[{word[-1]}]"  # whoever looks for it is none of them
        command = ["/bin/sh", "-c", f"grep -l '{pattern}' /proc/[0-9]*/cmdline"]
        return not self.runtime.exec_sync(self.id, command, 10).exit_code

    def stop(self, grace_s: int = 0) -> None:
        """Raises Refused."""
        self.runtime.stop_container(self.id, grace_s)

    def remove(self) -> None:
        """Raises Refused."""
        self.runtime.remove_container(self.id)

    def status(self) -> pb.ContainerStatus:
        """Raises Refused."""
        return self.runtime.container_status(self.id).status

    def ended(self, limit_s: float = 30.0) -> pb.ContainerStatus:
        """Its status once it has exited; raises Broken where it does not, Refused."""

        def exited() -> pb.ContainerStatus | None:
            status = self.status()
            return status if status.state == pb.CONTAINER_EXITED else None

        status = eventually(exited, limit_s, f"container {self.config.metadata.name} has exited")
        assert status is not None
        return status

    def listed(self) -> pb.Container | None:
        """Its entry in the list of all containers; None where it has none. Raises Refused."""
        return next((each for each in self.runtime.list_containers() if each.id == self.id), None)


class PodUnderTest:
    """A sandbox of a case, by its id and as it was asked for."""

    def __init__(
        self, runtime: kubelet.RemoteRuntime, id: str, config: pb.PodSandboxConfig, image: str
    ) -> None:
        self.runtime, self.id, self.config, self._image = runtime, id, config, image
        self._numbers = itertools.count()

    def stop(self) -> None:
        """Raises Refused."""
        self.runtime.stop_pod_sandbox(self.id)

    def remove(self) -> None:
        """Raises Refused."""
        self.runtime.remove_pod_sandbox(self.id)

    def status(self) -> pb.PodSandboxStatus:
        """Raises Refused."""
        return self.runtime.pod_sandbox_status(self.id).status

    def listed(self) -> pb.PodSandbox | None:
        """Its entry in the list of all sandboxes; None where it has none. Raises Refused."""
        return next(
            (each for each in self.runtime.list_pod_sandboxes() if each.id == self.id), None
        )

    def request(
        self, name: str = "", command: Sequence[str] = WAITING, **more: Any
    ) -> pb.CreateContainerRequest:
        """A container of the pod, not asked for yet; `more` is of `kubelet.container_config`."""
        name = name or f"c{next(self._numbers)}"
        config = kubelet.container_config(
            name, more.pop("image", self._image), command=command, **{"labels": {}, **more}
        )
        return pb.CreateContainerRequest(
            pod_sandbox_id=self.id, config=config, sandbox_config=self.config
        )

    def ask(self, request: pb.CreateContainerRequest) -> ContainerUnderTest:
        """The container that comes of a request; raises Refused."""
        reply = self.runtime.runtime.CreateContainer(request)
        return ContainerUnderTest(self.runtime, reply.container_id, request.config)

    def create(
        self, name: str = "", command: Sequence[str] = WAITING, **more: Any
    ) -> ContainerUnderTest:
        """A container that is not started."""
        return self.ask(self.request(name, command, **more))

    def run(
        self, name: str = "", command: Sequence[str] = WAITING, **more: Any
    ) -> ContainerUnderTest:
        """A container that runs, or ran."""
        container = self.create(name, command, **more)
        container.start()
        return container


class Pods:
    """Makes them. They are on the network of the node unless a case asks for another one."""

    def __init__(
        self,
        runtime: kubelet.RemoteRuntime,
        record: Record,
        *,
        run_id: str,
        image: str,
        cgroup_parent: str,
    ) -> None:
        self._runtime, self._record, self._image = runtime, record, image
        self._run_id, self._cgroup_parent = run_id, cgroup_parent
        self._numbers = itertools.count()
        self._shared: Shared[PodUnderTest] = Shared(self._make)

    def config(
        self, name: str = "", labels: Mapping[str, str] | None = None, **more: Any
    ) -> pb.PodSandboxConfig:
        """A sandbox not asked for yet, of a pod of its own; `more` is of
        `kubelet.sandbox_config`."""
        given = {"host_network": True, "cgroup_parent": self._cgroup_parent, **more}
        return kubelet.sandbox_config(
            name or f"refimpl-{self._run_id}-{next(self._numbers)}",
            labels={RUN_LABEL: self._run_id} if labels is None else labels,
            **given,
        )

    def ask(self, config: pb.PodSandboxConfig, handler: str = "") -> PodUnderTest:
        """The sandbox that comes of a configuration; raises Refused."""
        id = self._runtime.run_pod_sandbox(config, handler)
        return PodUnderTest(self._runtime, id, config, self._image)

    def run(self, **more: Any) -> PodUnderTest:
        """A sandbox of the case's own."""
        return self.ask(self.config(**more))

    def shared(self) -> PodUnderTest:
        """A sandbox that other cases use as well: what is made in it goes with the case, and it
        stays as it is."""
        return self._shared.lend(self._record.scope)

    def close(self) -> None:
        """Lets go of what is shared."""
        self._shared.taint()

    def unknown_id(self) -> str:
        """An id that no sandbox and no container has."""
        return uuid.uuid4().hex * 2

    def _make(self, scope: Any) -> PodUnderTest:
        with self._record.within(scope):
            return self.run()
