"""A CSI driver under test: its stubs, what it offers, and the requests cases start from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from conformance.csi import known, undo
from conformance.csi.capabilities import REVISIONS, ask
from conformance.csi.paths import paths_for
from conformance.csi.preconditions import Surroundings
from conformance.csi.settings import CsiSettings, settings
from conformance.engine import mutants, reproduce, sweep
from conformance.engine.ledger import Ledger, LedgerChannel, Made
from conformance.engine.ledger import read as read_ledger
from conformance.engine.options import BadOption, Options
from conformance.engine.supervise import Supervised
from conformance.engine.target import Loss
from conformance.engine.targetfile import target_file
from conformance.engine.verdict import Broken
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

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        options: Options,
        chosen: CsiSettings,
        *,
        controller: Endpoint | None = None,
        fake: FakeDriver | None = None,
        process: Supervised | None = None,
        command: Sequence[str] = (),
    ) -> None:
        self.settings, self.options, self.run_id = chosen, options, options.run_id
        self.fake, self.process, self.command = fake, process, tuple(command)
        self.endpoint = controller or endpoints[0]
        self.node_endpoints = list(endpoints)
        self.journal = Journal(keep=_KEEP)
        self.ledger = Ledger(undo.TABLE, self._ledger_path())
        self._channels: dict[str, Channel] = {}
        self._afterwards: list[Callable[[], None]] = []
        self._at_end: list[Callable[[], None]] = []
        self._lasting: dict[str, Any] = {}
        self._lent: set[str] = set()
        self._connect()
        self.offers = ask(self.driver, self.nodes[0])
        self.name = self.offers.name or "a CSI driver"
        self.version = self.offers.version
        self.revision = _revision(options.revision) or self.offers.guess_revision()
        self.paths = paths_for(chosen, local=self.endpoint.kind == "unix")

    def _ledger_path(self) -> Path | None:
        if self.fake:
            return None  # it goes when we go
        return sweep.ledger_path("csi", self.options.target, self.run_id)

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

    def left_by(self, path: Path) -> list[Made]:
        """What the ledger of a killed run leaves to be undone, newest first."""
        return read_ledger(path, undo.TABLE, undo.REQUESTS)

    def undo(self, made: Made) -> tuple[str, bool]:
        """Undoes one call of a killed run; what was done, and whether it worked."""
        rpc = made.method.rpartition("/")[2]
        try:
            undo.undo(made, self.call_with_secrets)
        except Broken as broken:
            return f"{rpc} could not be undone: {broken.got}", False
        return f"{rpc} undone", True

    def close(self) -> None:
        """See Target. What could not be undone before is tried once more."""
        self.clean_up_all()
        if self.paths:
            self.paths.close()
        self.ledger.close()
        for channel in self._channels.values():
            channel.close()
        if self.fake:
            self.fake.stop()
        if self.process:
            self.process.close()


def open_target(options: Options) -> CsiTarget:
    """Opens what the options name; raises BadOption or wire.client.Unreachable."""
    kind, _, argument = options.target.partition(":")
    file = target_file(options.target, "csi")
    chosen = settings(file.settings, options.settings)
    options.revision = options.revision or file.revision
    _revision(options.revision)  # a wrong one is said before a driver is waited for
    command = options.command or tuple(file.command)
    if command:
        return _started(command, options, chosen)
    if kind in ("fake", "mutant", "unbroken"):
        return _faked(kind, argument, options, chosen)
    where = file.endpoint or options.target
    try:
        nodes = [Endpoint.parse(text) for text in chosen.node_endpoints or [where]]
        return CsiTarget(
            nodes,
            options,
            chosen,
            controller=Endpoint.parse(chosen.controller_endpoint or where),
        )
    except EndpointError as error:
        raise BadOption(str(error)) from error


def _faked(kind: str, argument: str, options: Options, chosen: CsiSettings) -> CsiTarget:
    """Our own fake in this process: `fake`, `fake:PROFILE`, `mutant:NAME`, `unbroken:NAME`."""
    from refimpl.csi.fake import FakeDriver  # a real driver does not pay for it

    revision: Any = _revision(options.revision) or "1.13"
    if kind != "fake":
        mutant = mutants.load("csi", argument)
        broken = kind == "mutant"
        revision = mutant.chosen().get("revision", revision)
        options.revision = options.revision or f"csi-{revision}"
        fake = mutants.fake(FakeDriver, mutant, broken=broken, revision=revision)
        command = mutants.command("csi", argument, broken=broken)
    else:
        profile = argument or "default"
        try:
            fake = FakeDriver(profile=profile, revision=revision, nodes=2)
        except ValueError as error:
            raise BadOption(f"fake:{profile}: {error}") from error
        command = [sys.executable, "-m", "refimpl", "serve", "csi", "{endpoint}"]
        command += ["--state-dir", "{dir}", "--profile", profile, "--revision", revision]
    fake.start()
    try:
        chosen = known.of_fake(fake, chosen)
        return CsiTarget(fake.nodes, options, chosen, fake=fake, command=command)
    except BaseException:
        fake.stop()
        raise


def _started(command: Sequence[str], options: Options, chosen: CsiSettings) -> CsiTarget:
    process = Supervised(command)
    try:
        process.start().ready()
        return CsiTarget([process.endpoint], options, chosen, process=process, command=command)
    except (Unreachable, BadOption):
        process.close()
        raise


def _revision(text: str) -> Any:
    """`csi-1.12` or `1.12` as 1.12; empty stays empty."""
    revision = text.removeprefix("csi-")
    if revision and revision not in REVISIONS:
        raise BadOption(f"--revision {text}: there is csi-{', csi-'.join(REVISIONS)}")
    return revision


def preload() -> None:
    """See engine.target.Interface."""
    import refimpl.csi.fake  # noqa: F401
