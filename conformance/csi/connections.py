"""The connections to a driver: one for each of its sockets, with stubs of every service over it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf.message import Message

from conformance.csi.watched import Watch, WatchedChannel
from conformance.engine.ledger.calls import CallLedger, LedgerChannel
from conformance.engine.targets.life import Guarded, Life, no_sign
from conformance.engine.targets.supervise import Supervised
from refimpl.csi.api import csi_pb2 as pb
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
    each node's. plain: those at the controller's and at the first node's, for trials, whose calls
    are not watched. watch: what happens around the others. journal: every call made here. life:
    that of what serves there, with its process where we started one. ours: it is a fake in this
    process, which is alive.
    """

    def __init__(
        self,
        controller: Endpoint,
        nodes: Sequence[Endpoint],
        calls: CallLedger,
        *,
        process: Supervised | None = None,
        ours: bool = False,
    ) -> None:
        self.controller, self.nodes = controller, list(nodes)
        self.journal = Journal(keep=_KEEP)
        endpoints = {str(each): each for each in (controller, *nodes)}
        sign = str if ours else lambda: _no_sign(endpoints.values())
        self.life = Life([*endpoints.values()], self.journal, sign, process)
        self._channels = {
            name: Channel(endpoint, journal=self.journal, observers=[self.life.observe])
            for name, endpoint in endpoints.items()
        }
        self.ready()
        self.watch, self._calls = Watch(), calls
        self.plain = Driver.over(self._guarded(controller)), Driver.over(self._guarded(nodes[0]))
        self.driver = self._stubs(controller)
        self.at_nodes = [self._stubs(endpoint) for endpoint in nodes]

    def _stubs(self, endpoint: Endpoint) -> Driver:
        return Driver.over(WatchedChannel(self._guarded(endpoint), self.watch))

    def _guarded(self, endpoint: Endpoint) -> Guarded:
        return Guarded(LedgerChannel(self._channels[str(endpoint)], self._calls), self.life)

    def ready(self) -> None:
        """Waits until each stands, also after a restart of the driver; raises Unreachable."""
        for channel in self._channels.values():
            channel.wait_ready(_READY_S)

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


def _no_sign(endpoints: Iterable[Endpoint]) -> str:
    """At which endpoint even the simplest question has no answer, and why; empty where all do."""

    def ask(channel: Channel, limit_s: float) -> None:
        Driver.over(channel).identity.GetPluginInfo(pb.GetPluginInfoRequest(), timeout=limit_s)

    return next(filter(None, (no_sign(endpoint, ask) for endpoint in endpoints)), "")
