"""The connections to a driver: one for each of its sockets, with stubs of every service over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message

from conformance.engine.ledger.calls import CallLedger, LedgerChannel
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Journal

__all__ = ["Connections"]

# A run makes some thousands of calls; the journal has to reach back over one case only.
_KEEP = 20_000
_READY_S = 10.0


class Connections:
    """controller, nodes: the endpoints. driver: the stubs at the controller's; at_nodes: those at
    each node's. journal: every call made here."""

    def __init__(self, controller: Endpoint, nodes: Sequence[Endpoint], calls: CallLedger) -> None:
        self.controller, self.nodes = controller, list(nodes)
        self.journal = Journal(keep=_KEEP)
        self._channels: dict[str, Channel] = {}
        for endpoint in {str(each): each for each in (controller, *nodes)}.values():
            channel = Channel(endpoint, journal=self.journal)
            channel.wait_ready(_READY_S)
            self._channels[str(endpoint)] = channel
        self.driver = self._stubs(controller, calls)
        self.at_nodes = [self._stubs(endpoint, calls) for endpoint in nodes]

    def _stubs(self, endpoint: Endpoint, calls: CallLedger) -> Driver:
        return Driver.over(LedgerChannel(self._channels[str(endpoint)], calls))

    def channel(self, endpoint: Endpoint) -> Channel:
        """The connection to one of the endpoints, for calls that no stub makes."""
        return self._channels[str(endpoint)]

    def call(self, method: str, request: Message) -> Any:
        """One call by its full method name, at the endpoint that serves it; on the first node."""
        service, _, rpc = method.removeprefix("/csi.v1.").partition("/")
        stub = {
            "Identity": self.driver.identity,
            "Controller": self.driver.controller,
            "GroupController": self.driver.group,
            "SnapshotMetadata": self.driver.metadata,
            "Node": self.at_nodes[0].node,
        }[service]
        return getattr(stub, rpc)(request)

    def close(self) -> None:
        """Ends all connections."""
        for channel in self._channels.values():
            channel.close()
