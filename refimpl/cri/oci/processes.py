"""A `Processes` of an OCI runtime: what CRI asks for becomes a bundle, and a program runs it."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from refimpl.cri.oci import sandboxes
from refimpl.cri.oci.bundles import Bundle
from refimpl.cri.oci.cgroups import Cgroup
from refimpl.cri.oci.config import namespaces
from refimpl.cri.oci.config.resources import resources as limits_of
from refimpl.cri.oci.containers import Maker
from refimpl.cri.oci.launches import Launches
from refimpl.cri.oci.place import Place
from refimpl.cri.oci.pods import Pods
from refimpl.cri.oci.program import Failed, Program
from refimpl.cri.state.models import Container, Sandbox
from refimpl.cri.state.ports import Ended, Exit, Output, StartFailed, Usage
from refimpl.cri.subprocesses.live import LiveProcesses
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.streams import Streams
from refimpl.wire.status import Code, Refused

__all__ = ["OciProcesses"]

_KILLED = 128 + signal.SIGKILL
_FULL = "the kernel has killed a process: the container's memory limit was reached"


class OciProcesses:
    """Those of one runtime handler. pods: of all handlers. features: of program and kernel."""

    def __init__(
        self,
        program: Program,
        maker: Maker,
        place: Place,
        pods: Pods,
        features: Mapping[str, bool],
    ) -> None:
        self._program, self._maker, self._place, self._pods = program, maker, place, pods
        self._features = features
        self._live = LiveProcesses()
        self._launches = Launches(program, self._live, place.sockets)

    @property
    def features(self) -> Mapping[str, bool]:
        """Of the program and the kernel."""
        return self._features

    def close(self) -> None:
        """Ends all of them."""
        self._live.close()

    # -- sandboxes ----------------------------------------------------------------------------

    def make_sandbox(self, sandbox: Sandbox) -> str:
        """Its files and network namespace."""
        options = sandbox.config.linux.security_context.namespace_options
        namespaces.check(options, userns=self._features.get("user_namespaces", False))
        with _refusing("the sandbox cannot be made"):
            return sandboxes.make(self._place, sandbox)

    def start_sandbox(self, sandbox: Sandbox, ended: Ended) -> None:
        """The process that holds its namespaces. UNKNOWN for what the program refuses."""
        bundle = sandboxes.bundle_of(self._place, sandbox)
        with _refusing("the sandbox cannot be made"):
            sandboxes.add_addresses(bundle, sandbox)
            bundle.write(sandboxes.config_of(self._place, sandbox))
        try:
            kept = self._launches.first(sandbox.id, bundle, ended=ended)
        except StartFailed as error:
            raise Refused(Code.UNKNOWN, f"the sandbox cannot be started: {error.message}") from None
        self._pods.add(sandbox, kept.pid)

    def stop_sandbox(self, sandbox: Sandbox) -> None:
        """Its namespaces end; that of its network is the network's to end."""
        self._live.forget(sandbox.id)

    def remove_sandbox(self, sandbox: Sandbox) -> None:
        """Nothing is left."""
        self._live.forget(sandbox.id)
        self._pods.forget(sandbox)
        self._drop(sandbox.id, sandboxes.bundle_of(self._place, sandbox))
        sandboxes.remove(self._place, sandbox)

    # -- containers ---------------------------------------------------------------------------

    def create(self, container: Container) -> None:
        """A bundle. Raises Refused for what cannot be, and has left nothing then."""
        self._maker.check(container, self._features)
        pod = self._pods.of(container)
        with _refusing("the container cannot be made"):
            try:
                self._maker.make(container, pod.sandbox, pod.shared(container))
            except BaseException:
                self._maker.remove(container)
                raise

    def start(self, container: Container, output: Output, ended: Ended) -> int:
        """Raises StartFailed with the words of the program."""
        bundle, group = self._maker.bundle(container), self._group(container)

        def finish(code: int) -> Exit:
            self._pods.ended(container)
            full = code == _KILLED and group.killed_for_memory()
            group.end()  # those that are in another's process namespace
            return Exit(code, "OOMKilled", _FULL) if full else Exit(code)

        kept = self._launches.first(
            *(container.id, bundle),
            stdin=container.config.stdin,
            output=output,
            ended=ended,
            finish=finish,
        )
        if self._live.get(container.id) is not None:
            self._pods.started(container, kept.pid)
        return kept.pid

    def signal(self, container: Container, number: int) -> None:
        """To its first process; SIGKILL reaches it even where the program cannot be asked."""
        live = self._live.get(container.id)
        if live is None:
            return
        try:
            self._program.call(self._maker.bundle(container).log, "kill", container.id, str(number))
        except Failed:
            if number == signal.SIGKILL:
                live.keeping.signal(number)

    def remove(self, container: Container) -> None:
        """Nobody is told of an end any more."""
        self._live.forget(container.id)
        self._pods.ended(container)
        self._drop(container.id, self._maker.bundle(container))
        self._maker.remove(container)

    def update(self, container: Container, resources: Any) -> None:
        """Of a container that does not run yet it is what it starts with. INVALID_ARGUMENT for what
        the kernel refuses."""
        bundle, limits = self._maker.bundle(container), limits_of(resources)
        config = bundle.read()
        config["linux"]["resources"] |= limits
        if self._live.get(container.id) is not None:
            try:
                self._program.update(bundle.log, container.id, limits)
            except Failed as error:
                raise Refused(Code.INVALID_ARGUMENT, f"the limits cannot be set: {error}") from None
        bundle.write(config)

    def usage(self, container: Container) -> Usage:
        """As its cgroup has it, with its writable layer."""
        return self._group(container).usage(self._maker.bundle(container).written())

    # -- who connects -------------------------------------------------------------------------

    def execute(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """As the container's first process, with other words."""
        self._live.running(container.id)
        bundle = self._maker.bundle(container)
        return self._launches.another(container.id, bundle, request, streams)

    def attach(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """As `LiveProcesses.attach`."""
        return self._live.attach(container, request, streams)

    def dial(self, sandbox: Sandbox, port: int) -> socket.socket:
        """As `sandboxes.dial`."""
        return sandboxes.dial(sandbox, port)

    # -- checkpoints --------------------------------------------------------------------------

    def pause(self, container: Container) -> None:
        """By the freezer. UNKNOWN where the program does not."""
        self._asked(container, "pause")

    def resume(self, container: Container) -> None:
        """They go on."""
        self._asked(container, "resume")

    def checkpoint(self, container: Container, folder: Path) -> None:  # noqa: ARG002
        """Not done: it takes CRIU."""
        _never(container)

    def restore(self, container: Container, folder: Path) -> None:  # noqa: ARG002
        """Not done."""
        _never(container)

    # -- inside -------------------------------------------------------------------------------

    def _asked(self, container: Container, verb: str) -> None:
        self._live.running(container.id)
        try:
            self._program.call(self._maker.bundle(container).log, verb, container.id)
        except Failed as error:
            raise Refused(Code.UNKNOWN, f"{verb}: {error}") from None

    def _group(self, container: Container) -> Cgroup:
        return Cgroup(self._maker.bundle(container).cgroup)

    def _drop(self, id: str, bundle: Bundle) -> None:
        """What the program and the kernel know of it."""
        group = Cgroup(bundle.cgroup)
        if (self._program.root / id).exists():
            self._program.delete(bundle.log, id)
        group.end()
        for each in (group, *map(Cgroup, bundle.parents)):
            each.remove()


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """What the machine refuses; UNKNOWN."""
    try:
        yield
    except OSError as error:
        raise Refused(Code.UNKNOWN, f"{what}: {error}") from None


def _never(container: Container) -> NoReturn:
    raise Refused(
        Code.UNIMPLEMENTED,
        f"container {container.id}: a checkpoint takes CRIU, which the oci model does not call",
    )
