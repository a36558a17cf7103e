"""A kubelet under test as a target of the engine."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import time
from collections.abc import Collection

from conformance.engine import mutants
from conformance.engine.options import BadOption, Options
from conformance.engine.target import Loss
from conformance.kubelet.client import Choices, Client
from conformance.kubelet.mutation import KubeletMutant
from conformance.kubelet.node import Node
from refimpl.deviceplugin.profiles import PROFILES
from refimpl.wire.client import Unreachable
from refimpl.wire.journal import Entry, Journal

__all__ = ["ClientTarget", "open_fake"]

_KEEP = 50_000


class ClientTarget:
    """What is judged: a client with its node. `quiet_s`: how long a case watches that nothing
    happens."""

    secrets: Collection[str] = ()

    def __init__(self, client: Client, options: Options, *, interface: str, quiet_s: float) -> None:
        self.interface, self.client, self.options = interface, client, options
        self.quiet_s = quiet_s
        self.name, self.version = client.name, client.version
        self.revision = options.revision or f"kubernetes-{client.profile}"
        self.journal = Journal(keep=_KEEP)
        self._numbers = itertools.count(1)
        client.start()

    # What cases get

    def node(self) -> Node:
        """The node for one case; a client that was lost is started again."""
        if not self.client.running():
            self.client.start()
        name = f"n{next(self._numbers)}"
        return Node(self.client, self.journal, name=name, quiet_s=self.quiet_s)

    def done(self, node: Node) -> None:
        """Ends what a case had, and renews the client where the case spoilt it."""
        node.clean_up()
        if node.spoilt:
            self.renew()

    def renew(self) -> None:
        """The client, started anew on an empty folder."""
        self.client.end(kill=True)
        for child in ("device-plugins", "plugins_registry", "pod-resources"):
            path = self.client.folder / child
            for each in path.iterdir() if path.is_dir() else ():
                shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
        self.client.start(Choices())

    # What the engine asks

    def mark(self) -> int:
        """See Target."""
        return self.journal.seq

    def calls(self, mark: int) -> list[Entry]:
        """See Target."""
        return self.journal.since(mark)

    def reproduce(self, call: Entry) -> str:
        """See Target: what the plugin was asked, or said, as a line of JSON behind its name."""
        said = call.to_dict()["requests"]
        return f"{call.method} {shlex.quote(json.dumps(said[0] if said else {}))}"

    def lost(self) -> Loss | None:
        """See Target: a client that died is started again."""
        why = self.client.fate()
        if not why:
            return None
        try:
            self.renew()
        except (Unreachable, BadOption) as error:
            return Loss(f"{why}; {error}")
        return Loss(why, revived=True)

    def close(self) -> None:
        """See Target."""
        self.client.close()


def open_fake(kind: str, name: str, options: Options, *, interface: str) -> ClientTarget:
    """`fake`, `fake:PROFILE`, `mutant:NAME`, `unbroken:NAME`; raises BadOption."""
    from conformance.kubelet.ours import Clock, OurKubelet  # a real kubelet does not pay for it

    mutant = mutants.load(interface, name) if kind != "fake" else None
    bent = mutant if isinstance(mutant, KubeletMutant) else None
    profile = bent.profile if bent else (name if kind == "fake" else "") or "ideal"
    if profile not in PROFILES:
        raise BadOption(f"fake:{profile}: there is {', '.join(PROFILES)}")
    client = OurKubelet(profile, bent if kind == "mutant" else None, clock=Clock(time.monotonic))
    return ClientTarget(client, options, interface=interface, quiet_s=0.15)
