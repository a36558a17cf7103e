"""TARGET, target file, options and revision as one value, known before anything is opened."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any

import attrs

from conformance.engine.interface import COMMAND, FAKES, Interface, load
from conformance.engine.interfaces import INTERFACES, interface
from conformance.engine.ledger.leftovers import Leftovers
from conformance.engine.options import BadOption, Options
from conformance.engine.targets import placeholders, revision, settings, targetfile
from conformance.engine.targets.revision import Revision
from conformance.engine.targets.target import Target

__all__ = ["ResolvedTarget", "resolve"]


@attrs.frozen(kw_only=True)
class ResolvedTarget:
    """A target as a user chose it.

    scheme: one of the interface's, such as unix, exec, fake or command. address: what follows the
    scheme: a path, host:port, the name of a fake's profile or of a mutant. endpoint: scheme and
    address as endpoints are written. command: what starts it. settings: of the interface's own
    kind. revision: the one that was asked for. text: TARGET as a user writes it for a sweep.
    """

    interface: Interface
    side: str = ""
    scheme: str = "fake"
    address: str = ""
    command: tuple[str, ...] = ()
    settings: Any = None
    revision: Revision | None = None
    text: str = "fake"
    run_id: str = ""
    seed: int = 0
    heavy: bool = False

    @property
    def ours(self) -> bool:
        """Whether our own fake is judged."""
        return self.scheme in FAKES

    @property
    def endpoint(self) -> str:
        """`unix:///path` or `tcp://host:port`, for targets that are served at a socket."""
        return f"{self.scheme}:{self.address}"

    def judged_by(self, number: str) -> Revision:
        """The revision that was asked for, else that of the number."""
        return self.revision or Revision(self.interface.family, number)

    def open(self) -> Target:
        """Connects to it; raises BadOption, or wire.client.Unreachable."""
        opened: Target = load(self.interface.opener)(self)
        return opened

    def leftovers(self) -> Leftovers:
        """What undoes the ledgers of killed runs; raises as `open`."""
        opened: Leftovers = load(self.interface.leftovers)(self)
        return opened

    def judges(self, id: str) -> bool:
        """Whether the case of that id makes sense for such a target."""
        globs = self.interface.schemes(self.side)[self.scheme].judges
        return any(fnmatch.fnmatchcase(id, glob) for glob in globs)


def resolve(options: Options, name: str) -> ResolvedTarget:
    """What the options say of the target of an interface; raises BadOption, opens nothing."""
    owner = interface(name)
    schemes = owner.schemes(options.side)
    if not schemes:
        able = ", ".join(each.name for each in INTERFACES.values() if each.clients)
        raise BadOption(f"{options.side} {name}: clients are judged of {able}")
    file = targetfile.target_file(options.target, name)
    command = options.command or tuple(file.command)
    scheme, address = (COMMAND, "") if command else _split(file.endpoint or options.target)
    if scheme not in schemes:
        raise BadOption(_unknown(options, owner, file.endpoint or options.target))
    placeholders.check(command, schemes[scheme].placeholders)
    return ResolvedTarget(
        interface=owner,
        side=options.side,
        scheme=scheme,
        address=address,
        command=command,
        settings=settings.read(owner, file.settings, options.settings),
        revision=revision.parse(options.revision or file.revision, owner.family, owner.revisions),
        text=options.named_target,
        run_id=options.run_id,
        seed=options.seed,
        heavy=options.heavy,
    )


def _split(target: str) -> tuple[str, str]:
    """`exec:PATH` as its two parts; a bare path is a socket, as everywhere."""
    scheme, colon, address = target.partition(":")
    if colon and "/" not in scheme:
        return scheme, address
    return ("fake", "") if target in FAKES else ("unix", str(Path(target)))


def _unknown(options: Options, owner: Interface, target: str) -> str:
    who = "a client" if options.side else owner.subject
    ways = "; ".join(
        scheme.shown for scheme in owner.schemes(options.side).values() if scheme.shown
    )
    named = " ".join(options.command) or target
    return f"{named}: {who} is named as {ways}"
