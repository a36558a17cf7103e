"""A kubelet under test as a target of the engine."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Collection, Sequence
from typing import cast

from conformance.engine import mutants
from conformance.engine.options import BadOption
from conformance.engine.scope import CaseScope
from conformance.engine.targets.placeholders import used
from conformance.engine.targets.resolve import ResolvedTarget
from conformance.engine.targets.target import Loss
from conformance.kubelet.client import DEADLINE_S, Client
from conformance.kubelet.mutation import KubeletMutant
from conformance.kubelet.needs import lacks_of
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.profiles import PROFILES, RELEASES, settings_of
from refimpl.node.choices import KubeletChoices
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.journal import Entry, Journal

__all__ = ["ClientTarget", "open_command", "open_fake", "open_socket", "release_of"]

# What a mutant has not done by then it never does.
_MUTANT_S = 2.0


class ClientTarget:
    """What is judged: a client with its node. `quiet_s`: how long a case watches that nothing
    happens, the client's own when 0; `deadline_s`: how long it waits for what ought to happen.

    Raises as the start of the client does, which is closed then.
    """

    secrets: Collection[str] = ()
    only_warns: Collection[str] = ()

    def __init__(
        self,
        client: Client,
        resolved: ResolvedTarget,
        journal: Journal,
        *,
        quiet_s: float = 0.0,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self.interface, self.client = resolved.interface.name, client
        self.quiet_s, self.deadline_s = quiet_s or client.quiet_s, deadline_s
        self.name, self.version = client.name, client.version
        self.revision, self.lacks = resolved.judged_by(client.profile), lacks_of(client)
        self.journal = journal
        self._numbers = itertools.count(1)
        self._choices = KubeletChoices()
        self._gone: Loss | None = None
        try:
            client.start()
        except BaseException:
            client.close()
            raise

    # What cases get

    def node(self, case: CaseScope) -> NodeUnderTest:
        """The node for one case; a client that was lost is started again. It runs with what the
        case before has chosen, until the case chooses or uses it."""
        if not self.client.running():
            self.client.start()
        name = f"n{next(self._numbers)}"
        node = NodeUnderTest(
            self.client,
            self.journal,
            self.revision,
            name=name,
            quiet_s=self.quiet_s,
            deadline_s=self.deadline_s,
            choices=self._choices,
        )
        case.callback(lambda: self._done(node))
        return node

    def _done(self, node: NodeUnderTest) -> None:
        """Ends what a case had, and renews the client where the case spoilt it."""
        node.clean_up()
        self._choices = node.choices
        if node.spoilt:
            self.renew()

    def renew(self) -> None:
        """The client, started anew on an empty folder."""
        self.client.end(kill=True)
        for child in ("device-plugins", "plugins_registry", "pod-resources"):
            path = self.client.folder / child
            for each in path.iterdir() if path.is_dir() else ():
                shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
        self._choices = KubeletChoices()
        self.client.start(self._choices)

    # What the engine asks

    def mark(self) -> int:
        """A mark in the journal, for `calls`."""
        return self.journal.seq

    def calls(self, mark: int) -> list[Entry]:
        """What was called since a mark, oldest first."""
        return self.journal.since(mark)

    def reproduce(self, _calls: Sequence[Entry]) -> str:
        """Nothing: the plugins that a client speaks with are ours, and end with the run."""
        return ""

    def lost(self, *, failed: bool = True) -> Loss | None:
        """Why the client died, or answers nothing, None if it lives; it is started again. It is
        asked for a sign of life after a case that failed."""
        fate = self.client.fate()
        why = fate or (self.client.silence() if failed else "")
        if self._gone or not why:
            return self._gone
        try:
            self.renew()
        except (Unreachable, BadOption) as error:
            self._gone = Loss(f"{why}; {error}")
            return self._gone
        return Loss(why, True, fate or "silence")

    def close(self) -> None:
        """Ends the client and everything of it."""
        self.client.close()


def open_fake(resolved: ResolvedTarget, journal: Journal) -> ClientTarget:
    """`fake`, `fake:PROFILE`, `mutant:NAME`, `unbroken:NAME`; raises BadOption."""
    from conformance.kubelet.ours import OurKubelet  # a real kubelet does not pay for it

    mutant = _mutant(resolved)
    broken = mutant if resolved.scheme == "mutant" else None
    client = OurKubelet(
        _profile(resolved, mutant),
        broken,
        release=release_of(resolved),
        lacks=mutant.lacks if mutant else (),
    )
    deadline_s = _MUTANT_S if broken else DEADLINE_S
    return ClientTarget(client, resolved, journal, deadline_s=deadline_s)


def release_of(resolved: ResolvedTarget) -> str:
    """The release of our kubelet: of its profile where that has one, else the one that was asked
    for; raises BadOption."""
    number = resolved.revision.number if resolved.revision else ""
    return settings_of(_profile(resolved, _mutant(resolved)), release=number).release


def _mutant(resolved: ResolvedTarget) -> KubeletMutant | None:
    """What gives our kubelet its shape."""
    if resolved.scheme == "fake":
        return None
    mutant = mutants.load(resolved.interface.name, resolved.address)
    return mutant if isinstance(mutant, KubeletMutant) else None


def _profile(resolved: ResolvedTarget, mutant: KubeletMutant | None) -> str:
    named = resolved.address if resolved.scheme == "fake" else ""
    profile = mutant.profile if mutant else named or "ideal"
    if profile not in PROFILES:
        raise BadOption(f"fake:{profile}: there is {', '.join(PROFILES)}")
    return profile


def open_command(resolved: ResolvedTarget, journal: Journal) -> ClientTarget:
    """A kubelet, or what takes {config}, {kubeconfig} or {runtime}; else an adapter (`lines`).

    Raises BadOption, Unreachable.
    """
    client: Client
    command = resolved.command
    if used(command) & {"config", "kubeconfig", "runtime"}:
        from conformance.kubelet.real import RealKubelet  # our fake does not pay for it

        client = RealKubelet(command)
    else:
        from conformance.kubelet.lines import LinesClient

        client = LinesClient(command)
    return ClientTarget(client, resolved, journal, quiet_s=resolved.settings.quiet_s)


def open_socket(resolved: ResolvedTarget, journal: Journal) -> ClientTarget:
    """The pod resources of a kubelet that runs somewhere; raises BadOption, Unreachable."""
    from conformance.kubelet.socket import SocketClient  # nobody else pays for it

    try:
        endpoint = Endpoint.parse(resolved.endpoint)
    except EndpointError as error:
        raise BadOption(str(error)) from error
    client = SocketClient(endpoint, resolved.judged_by(RELEASES[-1]).number)
    # It has all that it takes of a Client that is read only.
    return ClientTarget(cast("Client", client), resolved, journal)
