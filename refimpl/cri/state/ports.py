"""What the state needs from outside: time, processes, networks, images and logs.

A process model (`refimpl.cri.virtual`, and others beside it) is a `Processes`; what it does not do
it refuses with UNIMPLEMENTED. No port is called under the lock of the state, so each may take time.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from refimpl.cri.state.models import Condition, Container, Image, Sandbox
from refimpl.images.credentials import Credentials

if TYPE_CHECKING:
    from refimpl.streaming.outcome import Outcome
    from refimpl.streaming.requests import StreamRequest
    from refimpl.streaming.streams import Streams

__all__ = [
    "Caller",
    "Clock",
    "Ended",
    "Exit",
    "Ids",
    "ImageSource",
    "Logs",
    "Network",
    "Output",
    "Processes",
    "StartFailed",
    "Usage",
]

Ids = Callable[[], str]
"""A new id; no two are the same."""
Output = Callable[[str, bytes], object]
"""Told what was written: "stdout" or "stderr", and the bytes."""


class Clock(Protocol):
    """Time, which tests may hold in their hands."""

    def now(self) -> int:
        """Nanoseconds since the epoch."""

    def call_later(self, seconds: float, call: Callable[[], object]) -> Callable[[], None]:
        """Calls it once from another thread, unless what is returned is called before."""


class Caller(Protocol):
    """Who waits for an answer (`wire.server.Call`)."""

    def waiting(self) -> AbstractContextManager[None]:
        """Surrounds a long wait."""

    def cancelled(self) -> bool:
        """Whether nobody waits any more."""

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Calls the callback once `cancelled` turns true."""


@attrs.frozen
class Exit:
    """How a process ended; 128 + number for a signal. reason: where the model knows better than the
    code, such as OOMKilled."""

    code: int
    reason: str = ""
    message: str = ""


Ended = Callable[[Exit], object]
"""Told once, from any thread, that a process has ended."""


class StartFailed(Exception):
    """The first process of a container cannot be started; the text says why. code: as a shell would
    report it, 127 for a program that is missing, 128 for anything else."""

    def __init__(self, message: str, code: int = 128) -> None:
        super().__init__(message)
        self.message, self.code = message, code


@attrs.frozen(kw_only=True)
class Usage:
    """What a container has used. cpu_ns: since its start. memory: its working set, in bytes.
    written: in its writable layer, in bytes."""

    cpu_ns: int = 0
    memory: int = 0
    processes: int = 0
    written: int = 0


class Processes(Protocol):
    """One process model. Each method raises Refused for what cannot be."""

    @property
    def features(self) -> Mapping[str, bool]:
        """Fields of RuntimeHandlerFeatures that it fulfils."""

    def make_sandbox(self, sandbox: Sandbox) -> str:
        """What a sandbox needs before its network; the path of its network namespace, if any."""

    def start_sandbox(self, sandbox: Sandbox, ended: Ended) -> None:
        """Its network is there; `ended` is told when it breaks down by itself."""

    def stop_sandbox(self, sandbox: Sandbox) -> None:
        """All its containers have ended; may be repeated."""

    def remove_sandbox(self, sandbox: Sandbox) -> None:
        """Leaves nothing of it, in whatever state; may be repeated."""

    def create(self, container: Container) -> None:
        """Everything but a process."""

    def start(self, container: Container, output: Output, ended: Ended) -> int:
        """The pid of its first process; raises StartFailed. `ended` may be told before this
        returns."""

    def signal(self, container: Container, number: int) -> None:
        """To its first process; for SIGKILL to all of them. Nothing where it has ended."""

    def remove(self, container: Container) -> None:
        """Leaves nothing of it, in whatever state; may be repeated."""

    def update(self, container: Container, resources: Any) -> None:
        """New limits: all of them, or Refused and none."""

    def usage(self, container: Container) -> Usage:
        """Now."""

    def execute(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """Runs a command in a container that runs, until it ends; kills it once `streams.gone`."""

    def attach(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """Connects to the first process of a container that runs, until that ends or the client
        has left."""

    def pause(self, container: Container) -> None:
        """Its processes stand still."""

    def resume(self, container: Container) -> None:
        """They go on."""

    def checkpoint(self, container: Container, folder: Path) -> None:
        """Writes what it takes to go on from here into an empty folder; it runs on afterwards."""

    def restore(self, container: Container, folder: Path) -> None:
        """A container that was created goes on from there once it is started."""

    def dial(self, sandbox: Sandbox, port: int) -> socket.socket:
        """Connects to a port inside. Raises Refused."""


class Network(Protocol):
    """Where sandboxes that are not on the host's network get their addresses."""

    def attach(self, sandbox: Sandbox) -> Sequence[str]:
        """Its addresses, the first one foremost. Raises Refused, and has undone what it did."""

    def detach(self, sandbox: Sandbox) -> None:
        """Gives them back; may be repeated. Raises Refused."""

    def condition(self) -> Condition:
        """Whether NetworkReady holds."""


class ImageSource(Protocol):
    """Where images are pulled from."""

    def pull(self, reference: str, credentials: Credentials, caller: Caller) -> Image:
        """The image, with that reference among its tags or digests. Raises Refused, also once the
        caller is gone, and has kept nothing then."""

    def forget(self, image: Image) -> None:
        """Nobody knows it any more: its content may go."""


class Logs(Protocol):
    """Where containers write to."""

    def open(self, container: Container) -> Output:
        """For a container that starts. Raises Refused."""

    def reopen(self, container: Container) -> None:
        """After a rotation; raises Refused, and has made no file then."""

    def close(self, container: Container) -> None:
        """It has ended."""
