"""The base of a fake with one server: with its journal, its faults and its control socket."""

from __future__ import annotations

import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

from google.protobuf.descriptor import ServiceDescriptor

from refimpl.wire.control import Control, Route
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Faults
from refimpl.wire.instruments import Instruments, Where, endpoint_of
from refimpl.wire.journal import Journal
from refimpl.wire.server import Server

__all__ = ["Fake", "Where"]


class Fake(ABC):
    """Serves what `services` names, from `start` to `stop` or inside `with`.

    Without `endpoint` it listens in a private directory (0700), removed when it stops. `journal` is
    a Journal, which stays open and may be shared, or the path of a file to write. `control` is
    where `wire.control` listens, if at all. A fake may be started again after `stop`; its journal
    and its faults stay.
    """

    socket_name: ClassVar[str] = "fake.sock"
    """The socket's name in a private directory."""

    def __init__(
        self,
        endpoint: Where | None = None,
        *,
        faults: Faults | None = None,
        journal: Journal | Path | str | None = None,
        control: Where | None = None,
        allow_remote: bool = False,
    ) -> None:
        self._wanted = None if endpoint is None else endpoint_of(endpoint)
        self._instruments = Instruments(faults=faults, journal=journal, control=control)
        self.faults, self.journal = self._instruments.faults, self._instruments.journal
        self._allow_remote = allow_remote
        self._directory: Path | None = None
        self._server: Server | None = None

    @abstractmethod
    def services(self) -> Mapping[ServiceDescriptor, object]:
        """What is served: the services of the schema, and the objects with their methods."""

    def routes(self) -> Mapping[str, Route]:
        """What the control socket answers besides journal and faults, by method and path."""
        return {}

    @property
    def control(self) -> Control | None:
        """The control socket, while there is one."""
        return self._instruments.control

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens, or will; raises RuntimeError where that is known only after `start`."""
        running = self._server.endpoint if self._server else None
        endpoint = running or self._wanted
        if endpoint is None:
            raise RuntimeError(f"{type(self).__name__} has no endpoint before it is started")
        return endpoint

    def start(self) -> Endpoint:
        """Serves; returns the endpoint, with the port that was chosen for TCP port 0.

        Raises EndpointError if an endpoint is taken or cannot be bound, FaultError for a fault
        that fits none of the services, RuntimeError if it is started already.
        """
        if self._server is not None:
            raise RuntimeError(f"{type(self).__name__} serves at {self.endpoint} already: stop it")
        services = self.services()
        self._instruments.check(services)
        self._server = Server(
            services, journal=self.journal, faults=self.faults, allow_remote=self._allow_remote
        )
        try:
            self._instruments.open_journal()
            endpoint = self._server.start(self._wanted or self._private())
            self._instruments.start_control(self.routes())
        except BaseException:
            self.stop()
            raise
        return endpoint

    def stop(self, grace_s: float = 1.0) -> None:
        """Ends calls and streams, and removes what `start` made. May be called twice."""
        self._instruments.stop_control()
        if self._server is not None:
            self._server.stop(grace_s)
        self._server = None
        self._instruments.close()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._directory = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def _private(self) -> Endpoint:
        self._directory = Path(tempfile.mkdtemp(prefix="refimpl-"))
        return Endpoint.parse(self._directory / self.socket_name)
