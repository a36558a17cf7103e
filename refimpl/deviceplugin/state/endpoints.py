"""Connections to plugins: who is asked, and whose end empties a resource (2.4).

kubelet keeps two books. The registration layer remembers clients, and looks them up when a stream
ends; the device manager remembers endpoints, and calls one of them. What a profile calls damage is
the two disagreeing. Order of a registration: `register`, dial and options, `connect` or `fail`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import attrs

from refimpl.deviceplugin.state.models import PluginOptions
from refimpl.deviceplugin.state.settings import GRACE_S, Settings
from refimpl.wire.status import Code, Refused

Clock = Callable[[], float]
"""Seconds of a clock that does not jump."""
Slot = tuple[str, str]
"""Resource and socket; the socket is "" where a resource has one slot only."""


@attrs.define(eq=False)
class Connection:
    """One dialled plugin; `stopped`: when its end was noticed."""

    number: int
    resource: str
    socket: str
    options: PluginOptions = attrs.field(factory=PluginOptions)
    stopped: float | None = None


class Endpoints:
    """Connections by slot. `lost(resource)` is called when a resource has no plugin any more."""

    def __init__(self, settings: Settings, clock: Clock, lost: Callable[[str], None]) -> None:
        self.settings = settings
        self.primary: dict[str, Connection] = {}
        """Whom calls of a resource go to; stays, stopped, until the resource is removed."""
        self._clock = clock
        self._lost = lost
        self._numbers = count(1)
        self._clients: dict[Slot, list[Connection]] = {}
        self._stored: dict[Slot, Connection] = {}

    # -- registration -------------------------------------------------------------------------

    def register(self, resource: str, socket: str) -> Connection | None:
        """A registration that passed its checks: the connection to dial, or None for one that is
        answered with success at once since the pair is in use (`same_socket` dedup)."""
        slot = self._slot(resource, socket)
        if self._multi and self.settings.same_socket == "dedup" and self._clients.get(slot):
            return None
        connection = Connection(next(self._numbers), resource, socket)
        others = self._clients.get(slot, []) if self._multi else []
        self._clients[slot] = [*others, connection]
        return connection

    def connect(self, connection: Connection, options: PluginOptions) -> None:
        """The plugin answered with its options. Refused(UNKNOWN) if another connection holds the
        socket; the damage of `fail` is done then."""
        slot = self._slot_of(connection)
        if self._multi and slot in self._stored:
            self.fail(connection)
            raise Refused(
                Code.UNKNOWN,
                f"device plugin already connected: {connection.socket} for"
                f" {connection.resource}; use a socket name of its own for every instance",
            )
        connection.options = options
        self._stored[slot] = connection
        self.primary[connection.resource] = connection

    def fail(self, connection: Connection) -> None:
        """Dial or options failed: the client is forgotten, and with it whoever had the slot."""
        slot = self._slot_of(connection)
        left = [client for client in self._clients.get(slot, []) if client is not connection]
        if left and not self.settings.failed_register_forgets:
            self._clients[slot] = left
        else:
            self._clients.pop(slot, None)

    # -- ends ---------------------------------------------------------------------------------

    def ended(self, connection: Connection) -> Connection | None:
        """A stream ended. The connection to close now, which need not be the one that ended: it is
        whoever is found under the slot. None if nobody is: then nothing happens at all."""
        return self.leave(connection.resource, connection.socket)

    def leave(self, resource: str, socket: str) -> Connection | None:
        """A watched socket is gone, or a stream ended: as `ended`, by name."""
        slot = self._slot(resource, socket)
        clients = self._clients.pop(slot, [])
        if not clients:
            return None
        self._stop(slot)
        return clients[0]

    def _stop(self, slot: Slot) -> None:
        resource = slot[0]
        connection = self._stored.pop(slot, None)
        if connection is None:
            return
        connection.stopped = self._clock()
        survivors = [kept for (name, _), kept in self._stored.items() if name == resource]
        if survivors:
            self.primary[resource] = survivors[-1]
        else:
            self._lost(resource)

    # -- state of a resource ------------------------------------------------------------------

    def restore(self, resource: str) -> None:
        """A resource that the checkpoint names: its plugin is taken to have stopped just now."""
        self.primary[resource] = Connection(0, resource, "", stopped=self._clock())

    def expired(self, resource: str) -> bool:
        """True if nobody has served the resource for longer than the grace period."""
        primary = self.primary.get(resource)
        if primary is None:
            return True
        return primary.stopped is not None and self._clock() - primary.stopped > GRACE_S

    def remove(self, resource: str) -> None:
        """Forget whom the resource was served by."""
        self.primary.pop(resource, None)

    def connections(self, resource: str) -> tuple[Connection, ...]:
        """All that count as connected, in the order of their registration."""
        return tuple(kept for (name, _), kept in self._stored.items() if name == resource)

    def noticed(self, connection: Connection) -> bool:
        """True if the end of this connection's stream would have an effect."""
        return bool(self._clients.get(self._slot_of(connection)))

    @property
    def _multi(self) -> bool:
        return self.settings.endpoints == "multi"

    def _slot(self, resource: str, socket: str) -> Slot:
        return (resource, socket if self._multi else "")

    def _slot_of(self, connection: Connection) -> Slot:
        return self._slot(connection.resource, connection.socket)
