"""What every fake is equipped with: a journal, faults, and a control socket where one is wanted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from google.protobuf.descriptor import ServiceDescriptor

from refimpl.wire.control import Control, Route
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal

__all__ = ["Instruments", "Where", "endpoint_of"]

Where = Endpoint | str | os.PathLike[str]
"""An endpoint, or how one is written."""


def endpoint_of(where: Where) -> Endpoint:
    """The endpoint itself; raises EndpointError for text that is none."""
    return where if isinstance(where, Endpoint) else Endpoint.parse(where)


class Instruments:
    """`journal` is a Journal, which stays open and may be shared, or the path of a file to write.
    `control` is where `wire.control` listens, if at all."""

    def __init__(
        self,
        *,
        faults: Faults | None = None,
        journal: Journal | Path | str | None = None,
        control: Where | None = None,
    ) -> None:
        self.faults = Faults() if faults is None else faults
        self._own_journal = not isinstance(journal, Journal)
        self.journal = (
            journal
            if isinstance(journal, Journal)
            else Journal(None if journal is None else Path(journal))
        )
        self.control: Control | None = None
        self._control_wanted = None if control is None else endpoint_of(control)

    def check(self, services: Mapping[ServiceDescriptor, object]) -> None:
        """Raises FaultError for a fault that fits none of the services."""
        self.faults.check(services)

    def open_journal(self) -> None:
        """Opens the file of a journal that is nobody else's; raises OSError."""
        if self._own_journal:
            self.journal.open()

    def start_control(self, routes: Mapping[str, Route]) -> None:
        """Has the control socket answer these routes, too. Raises EndpointError."""
        if self._control_wanted is None or self.control is not None:
            return
        control = Control(
            self._control_wanted, journal=self.journal, faults=self.faults, routes=routes
        )
        control.start()
        self.control = control

    def stop_control(self) -> None:
        """Nobody steers the fake any more. May be called twice."""
        control, self.control = self.control, None
        if control is not None:
            control.stop()

    def close(self) -> None:
        """Ends the control socket, and the journal where it is nobody else's. May be called
        twice."""
        self.stop_control()
        if self._own_journal:
            self.journal.close()
        self.journal.flush()
