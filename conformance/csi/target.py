"""A CSI driver under test: its stubs, what it offers, and the requests cases start from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from google.protobuf.message import Message

from conformance.csi import features, known, undo
from conformance.csi.capabilities import ask
from conformance.csi.paths import paths_for
from conformance.csi.preconditions import Surroundings
from conformance.csi.settings import CsiSettings
from conformance.engine import mutants, reproduce
from conformance.engine.hooks import Hooks
from conformance.engine.interface import COMMAND
from conformance.engine.ledger import sweep
from conformance.engine.ledger.calls import CallLedger, LedgerChannel
from conformance.engine.ledger.entries import CALL, Ledger, LedgerEntry
from conformance.engine.ledger.leftovers import Leftovers
from conformance.engine.needs import Feature
from conformance.engine.options import BadOption
from conformance.engine.resolve import ResolvedTarget
from conformance.engine.supervise import Supervised
from conformance.engine.target import Loss
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError, probe
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.status import Code

if TYPE_CHECKING:
    from refimpl.csi.fake import FakeDriver

# A run makes some thousands of calls; the journal has to reach back over one case only.
_KEEP = 20_000
# As many characters as a secret has at least.
_SECRET = 6
# A driver that died is seen in one of the last calls of the case.
_LATEST = 5


class CsiTarget(Surroundings):
    """One driver: `identity`, `controller`, `group`, `metadata`, `node` are its stubs."""

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
        self.hooks = known.hooks(fake) if fake else Hooks(self.settings.hooks)
        self.endpoint = controller or endpoints[0]
        self.node_endpoints = list(endpoints)
        self.journal = Journal(keep=_KEEP)
        self.ledger = CallLedger(Ledger(self._ledger_path()), undo.TABLE, undo.REQUESTS)
        self._channels: dict[str, Channel] = {}
        self._afterwards: list[Callable[[], None]] = []
        self._at_end: list[Callable[[], None]] = []
        self._lasting: dict[str, Any] = {}
        self._lent: set[str] = set()
        self._connect()
        self.offers = ask(self.driver, self.nodes[0])
        self.name = self.offers.name or "a CSI driver"
        self.version = self.offers.version
        self.revision = resolved.judged_by(self.offers.guess_revision())
        self.lacks = features.lacks(self)
        self.paths = paths_for(self.settings, local=self.endpoint.kind == "unix")

    def _ledger_path(self) -> Path | None:
        if self.fake:
            return None  # it goes when we go
        return sweep.ledger_path("csi", self.resolved.text, self.run_id)

    def _connect(self) -> None:
        for endpoint in {str(e): e for e in (self.endpoint, *self.node_endpoints)}.values():
            channel = Channel(endpoint, journal=self.journal)
            channel.wait_ready(10.0)
            self._channels[str(endpoint)] = channel
        self.driver = self._driver(self.endpoint)
        self.nodes = [self._driver(endpoint) for endpoint in self.node_endpoints]
        self.identity, self.controller = self.driver.identity, self.driver.controller
        self.group, self.metadata = self.driver.group, self.driver.metadata
        self.node = self.nodes[0].node

    def _driver(self, endpoint: Endpoint) -> Driver:
        return Driver.over(LedgerChannel(self._channels[str(endpoint)], self.ledger))

    def channel(self, endpoint: Endpoint) -> Channel:
        """The connection to one of the endpoints, for calls that no stub makes."""
        return self._channels[str(endpoint)]

    def call(self, method: str, request: Message) -> Any:
        """One call by its full method name, at the endpoint that serves it."""
        service, _, rpc = method.removeprefix("/csi.v1.").partition("/")
        stub = {
            "Identity": self.identity,
            "Controller": self.controller,
            "GroupController": self.group,
            "SnapshotMetadata": self.metadata,
            "Node": self.node,
        }[service]
        return getattr(stub, rpc)(request)

    def new_process(self) -> Supervised:
        """A process of the driver of a case's own, not started yet."""
        return started(self.command)

    def has(self, *features: Feature) -> bool:
        """Whether all of these are there: of the driver, or around it."""
        return not any(self.lacks[feature.name] for feature in features)

    @property
    def secrets(self) -> Collection[str]:
        """See Target. Shorter words would blot out half of a report, and guard nothing."""
        own = self.settings
        values = {text for each in own.secrets.values() for text in each.values()}
        long = [text for text in values.union(own.wrong_secrets.values()) if len(text) >= _SECRET]
        return sorted(long, key=len, reverse=True)

    def mark(self) -> int:
        """See Target."""
        return self.journal.seq

    def calls(self, mark: int) -> list[Entry]:
        """See Target."""
        return self.journal.since(mark)

    def reproduce(self, call: Entry) -> str:
        """See Target: a grpcurl line."""
        at = self.node_endpoints[0] if "/csi.v1.Node/" in call.method else self.endpoint
        return reproduce.grpcurl(call, at, "refimpl/csi/api/csi.proto")

    def lost(self) -> Loss | None:
        """See Target."""
        if self.process and self._hung_up():
            self.process.wait_end(1.0)  # of one that dies its socket may outlive its connections
        sockets = [endpoint for endpoint in self._endpoints() if endpoint.kind == "unix"]
        if all(probe(endpoint) == "live" for endpoint in sockets):
            return None
        if not self.process:
            return Loss(f"nobody answers at {self.endpoint} any more")
        self.process.wait_end(1.0)
        status, last = self.process.status(), self.process.last_words()
        try:
            self.process.terminate()
            self.process.start().ready()
        except Unreachable as error:
            return Loss(str(error))
        self.forget_lasting()
        return Loss(f"its process ended with {status}{last}", revived=True)

    def _hung_up(self) -> bool:
        return any(call.code == Code.UNAVAILABLE for call in self.journal.entries[-_LATEST:])

    def _endpoints(self) -> list[Endpoint]:
        return [self.endpoint, *self.node_endpoints]

    def undo_recorded(self, entry: LedgerEntry) -> bool:
        """Undoes one call of a killed run; raises Broken when the driver does not let go of it."""
        undo.undo(self.ledger.read(entry), self.call_with_secrets)
        return True

    def close(self) -> None:
        """See Target. What could not be undone before is tried once more."""
        self.clean_up_all()
        if self.paths:
            self.paths.close()
        self.ledger.ledger.close()
        for channel in self._channels.values():
            channel.close()
        if self.fake:
            self.fake.stop()
        if self.process:
            self.process.close()


def open_target(resolved: ResolvedTarget) -> CsiTarget:
    """Opens a driver; raises BadOption or wire.client.Unreachable."""
    if resolved.scheme == COMMAND:
        return _started(resolved)
    if resolved.ours:
        return _faked(resolved)
    chosen: CsiSettings = resolved.settings
    where = resolved.endpoint
    try:
        nodes = [Endpoint.parse(text) for text in chosen.node_endpoints or [where]]
        controller = Endpoint.parse(chosen.controller_endpoint or where)
    except EndpointError as error:
        raise BadOption(str(error)) from error
    return CsiTarget(nodes, resolved, controller=controller)


def open_leftovers(resolved: ResolvedTarget) -> Leftovers:
    """What a sweep works with; raises as `open_target`."""
    target = open_target(resolved)
    return Leftovers({CALL: target.undo_recorded}, target.close)


def _faked(resolved: ResolvedTarget) -> CsiTarget:
    """Our own fake in this process: `fake`, `fake:PROFILE`, `mutant:NAME`, `unbroken:NAME`."""
    from refimpl.csi.fake import FakeDriver  # a real driver does not pay for it

    asked = resolved.judged_by("1.13")
    if resolved.scheme != "fake":
        mutant = mutants.load("csi", resolved.address)
        broken = resolved.scheme == "mutant"
        number: Any = mutant.chosen().get("revision", asked.number)
        if resolved.revision is None:
            asked = resolved.judged_by(number)
        fake = mutants.fake(FakeDriver, mutant, broken=broken, revision=number)
        command = mutants.command("csi", resolved.address, broken=broken)
    else:
        profile = resolved.address or "default"
        number = asked.number
        try:
            fake = FakeDriver(profile=profile, revision=number, nodes=2)
        except ValueError as error:
            raise BadOption(f"fake:{profile}: {error}") from error
        command = [sys.executable, "-m", "refimpl", "serve", "csi", "{endpoint}"]
        command += ["--state-dir", "{dir}", "--profile", profile, "--revision", number]
    fake.start()
    try:
        chosen = known.of_fake(fake, resolved.settings)
        judged = attrs.evolve(resolved, revision=asked)
        return CsiTarget(fake.nodes, judged, chosen=chosen, fake=fake, command=command)
    except BaseException:
        fake.stop()
        raise


def started(command: Sequence[str]) -> Supervised:
    """A process of the driver, not started yet; it finds its socket in CSI_ENDPOINT, too."""
    return Supervised(command, env={"CSI_ENDPOINT": "{endpoint}"})


def _started(resolved: ResolvedTarget) -> CsiTarget:
    process = started(resolved.command)
    try:
        process.start().ready()
        return CsiTarget([process.endpoint], resolved, process=process, command=resolved.command)
    except (Unreachable, BadOption):
        process.close()
        raise
