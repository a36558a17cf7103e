"""The base of every fake: one server with its journal, its faults and its control socket."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

from google.protobuf.descriptor import ServiceDescriptor

from refimpl.wire.control import Control, Route
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal
from refimpl.wire.server import Server

__all__ = ["Fake"]

Where = Endpoint | str | os.PathLike[str]


class Fake:
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
        self._wanted = None if endpoint is None else _endpoint(endpoint)
        self._control_wanted = None if control is None else _endpoint(control)
        self.faults = Faults() if faults is None else faults
        self._own_journal = not isinstance(journal, Journal)
        self.journal = (
            journal
            if isinstance(journal, Journal)
            else Journal(None if journal is None else Path(journal))
        )
        self.control: Control | None = None
        self._allow_remote = allow_remote
        self._directory: Path | None = None
        self._server: Server | None = None

    def services(self) -> Mapping[ServiceDescriptor, object]:
        """What is served: the services of the schema, and the objects with their methods."""
        raise NotImplementedError(f"{type(self).__name__} must say which services it serves")

    def routes(self) -> Mapping[str, Route]:
        """What the control socket answers besides journal and faults; see `Control`."""
        return {}

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
        self.faults.check(services)
        self._server = Server(
            services, journal=self.journal, faults=self.faults, allow_remote=self._allow_remote
        )
        try:
            if self._own_journal:
                self.journal.open()
            endpoint = self._server.start(self._wanted or self._private())
            self._start_control()
        except BaseException:
            self.stop()
            raise
        return endpoint

    def stop(self, grace_s: float = 1.0) -> None:
        """Ends calls and streams, and removes what `start` made. May be called twice."""
        if self.control is not None:
            self.control.stop()
        if self._server is not None:
            self._server.stop(grace_s)
        self._server = None
        if self._own_journal:
            self.journal.close()
        self.journal.flush()
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

    def _start_control(self) -> None:
        if self._control_wanted is None:
            return
        self.control = Control(
            self._control_wanted, journal=self.journal, faults=self.faults, routes=self.routes()
        )
        self.control.start()


def _endpoint(where: Where) -> Endpoint:
    return where if isinstance(where, Endpoint) else Endpoint.parse(where)
