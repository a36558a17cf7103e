"""A CSI driver under test, composed of what cases work with."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from conformance.csi import features, known
from conformance.csi.capabilities import ask
from conformance.csi.cleanup import CleanUp
from conformance.csi.connections import Connections
from conformance.csi.excuses import Excuses
from conformance.csi.holdings import Holdings
from conformance.csi.paths import paths_for
from conformance.csi.preconditions import Preconditions
from conformance.csi.requests import Requests
from conformance.csi.settings import CsiSettings
from conformance.csi.shared import SharedObjects
from conformance.csi.steps import Steps
from conformance.csi.undo import TABLE, undo
from conformance.engine.judging import reproduce
from conformance.engine.ledger import sweep
from conformance.engine.ledger.entries import Ledger, LedgerEntry
from conformance.engine.needs import Feature
from conformance.engine.scope import CaseScope
from conformance.engine.targets.hooks import Hooks
from conformance.engine.targets.resolve import ResolvedTarget
from conformance.engine.targets.supervise import Supervised
from conformance.engine.targets.target import Loss
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.hiding import SHORTEST
from refimpl.wire.journal import Entry

if TYPE_CHECKING:
    from refimpl.csi.fake import FakeDriver

__all__ = ["CsiTarget", "supervised"]


class CsiTarget:
    """One driver.

    identity, controller, group, metadata: its stubs at the controller's endpoint; node: at the
    first node's; nodes: all stubs at each node's endpoint. requests: well-formed ones. steps: what
    brings a volume somewhere. shared: volumes that outlast a case. preconditions: what was tried
    out. sizes: how large volumes may be. holdings: the volumes there are now. lacks: feature -> why
    it is not there. hooks: what breaks the driver. scope: undone when the case ends.
    """

    interface = "csi"
    only_warns: Collection[str] = ()

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        resolved: ResolvedTarget,
        *,
        chosen: CsiSettings | None = None,
        controller: Endpoint | None = None,
        fake: FakeDriver | None = None,
        process: Supervised | None = None,
        command: Sequence[str] = (),
    ) -> None:
        self.resolved, self.run_id = resolved, resolved.run_id
        self.settings: CsiSettings = chosen or resolved.settings
        self.fake, self.process, self.command = fake, process, tuple(command)
        self.cleanup = CleanUp(Ledger(self._ledger_path(), resolved.text), self.call_with_secrets)
        calls, first = self.cleanup.calls, controller or endpoints[0]
        self.connections = Connections(first, endpoints, calls, process=process, ours=bool(fake))
        self.life = self.cleanup.life = self.connections.life
        self._name_stubs()
        self.capabilities = ask(self.driver, self.nodes[0])
        self.name = self.capabilities.name or "a CSI driver"
        self.version = self.capabilities.version
        self.revision = resolved.judged_by(self.capabilities.guess_revision())
        self._compose()

    def _ledger_path(self) -> Path | None:
        if self.fake:
            return None  # it goes when we go
        return sweep.ledger_path("csi", self.resolved.text, self.run_id)

    def _name_stubs(self) -> None:
        self.endpoint, self.node_endpoints = self.connections.controller, self.connections.nodes
        self.journal = self.connections.journal
        self.driver, self.nodes = self.connections.driver, self.connections.at_nodes
        self.identity, self.controller = self.driver.identity, self.driver.controller
        self.group, self.metadata = self.driver.group, self.driver.metadata
        self.node = self.nodes[0].node

    def _compose(self) -> None:
        self.paths = paths_for(self.settings, local=self.endpoint.kind == "unix")
        self.hooks = known.hooks(self.fake) if self.fake else Hooks(self.settings.hooks)
        self.requests = Requests(
            self.settings, self.capabilities, self.run_id, lambda: self.preconditions.sizes.usual
        )
        self.steps = Steps(self.driver, self.nodes[0], self.requests, self.paths, self.cleanup)
        self.shared = SharedObjects(self.steps, self.cleanup, self.journal)
        self.preconditions = Preconditions(
            self.connections,
            self.steps,
            self.cleanup,
            paths=self.paths,
            hooks=self.hooks,
            command=self.command,
            fake=self.fake,
        )
        self.sizes = self.preconditions.sizes
        self.lacks = features.lacks(self.preconditions)
        self._watch_calls()

    def _watch_calls(self) -> None:
        self.holdings = Holdings(self.settings, self.sizes)
        self.connections.watch.holdings = self.holdings
        self.connections.watch.excuses = Excuses(
            *self.connections.plain, self.requests, self.cleanup
        )

    def has(self, *wanted: Feature) -> bool:
        """Whether all of these are there: of the driver, or around it."""
        return not any(self.lacks[feature.name] for feature in wanted)

    @property
    def scope(self) -> CaseScope:
        """That of the case that runs: what is registered there is undone when it ends."""
        return self.cleanup.scope

    def begin(self, scope: CaseScope) -> None:
        """A case begins: what is made from now on goes with its scope."""
        self.cleanup.scope = scope
        self.shared.begin()
        self.holdings.lifted = scope.heavy

    def channel(self, endpoint: Endpoint) -> Channel:
        """The connection to one of the endpoints, for calls that no stub makes."""
        return self.connections.channel(endpoint)

    def call(self, method: str, request: Message) -> Any:
        """One call by its full method name, at the endpoint that serves it."""
        return self.connections.call(method, request)

    def call_with_secrets(self, method: str, request: Message) -> Any:
        """As `call`, with the user's secrets for such a call put into the request."""
        if "secrets" in request.DESCRIPTOR.fields_by_name:
            sent: Any = request
            sent.secrets.update(self.settings.secrets_for(method.rpartition("/")[2]))
        return self.call(method, request)

    def new_process(self) -> Supervised:
        """A process of the driver of a case's own, not started yet."""
        return supervised(self.command)

    @property
    def secrets(self) -> Collection[str]:
        """What no report may show, but for words too short to be one."""
        own = self.settings
        values = {text for each in own.secrets.values() for text in each.values()}
        long = [text for text in values.union(own.wrong_secrets.values()) if len(text) >= SHORTEST]
        return sorted(long, key=len, reverse=True)

    def mark(self) -> int:
        """A place in the journal; `calls` tells what was called after it."""
        return self.journal.seq

    def calls(self, mark: int) -> list[Entry]:
        """The calls since the mark, oldest first; before them those that made what was lent to the
        case."""
        return [*self.shared.calls(mark), *self.journal.since(mark)]

    def reproduce(self, calls: Sequence[Entry]) -> str:
        """A grpcurl line that repeats the last call, where its driver outlives the run and it names
        nothing that went with the case."""
        *before, call = calls
        creates = [each for each in before if each.method in TABLE]
        if self.fake or self.process or reproduce.depends(call, creates, self.run_id):
            return ""
        at = self.node_endpoints[0] if "/csi.v1.Node/" in call.method else self.endpoint
        return reproduce.grpcurl(call, at, "refimpl/csi/api/csi.proto")

    def lost(self, *, failed: bool = True) -> Loss | None:  # noqa: ARG002
        """Why the driver no longer answered, None where it does; one that we started is started
        again, and a connection to it stands."""
        loss = self.life.lost()
        if loss and loss.revived:
            self.shared.forget()
            try:
                self.connections.ready()
            except Unreachable as error:
                return Loss(f"{loss.reason}\n{error}")
        return loss

    def undo_recorded(self, entry: LedgerEntry) -> bool:
        """Undoes one call of a killed run; raises Broken when the driver does not let go of it."""
        undo(self.cleanup.calls.read(entry), self.call_with_secrets)
        return True

    def close(self) -> None:
        """Undoes what lasts, and tries once more what could not be undone before; ends connections
        and what was started."""
        self.shared.close()
        self.cleanup.close()
        if self.paths:
            self.paths.close()
        self.connections.close()
        if self.fake:
            self.fake.stop()
        if self.process:
            self.process.close()


def supervised(command: Sequence[str]) -> Supervised:
    """A process of the driver, not started yet; it finds its socket in CSI_ENDPOINT, too."""
    return Supervised(command, env={"CSI_ENDPOINT": "{endpoint}"})
