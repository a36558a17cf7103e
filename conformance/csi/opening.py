"""Opens a driver as the user names it: at its socket, as a process that we start, or our fake."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs

from conformance.csi import known
from conformance.csi.settings import CsiSettings
from conformance.csi.target import CsiTarget, supervised
from conformance.engine import mutants
from conformance.engine.interface import COMMAND
from conformance.engine.ledger.entries import CALL
from conformance.engine.ledger.leftovers import Leftovers
from conformance.engine.options import BadOption
from conformance.engine.targets.resolve import ResolvedTarget
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError

if TYPE_CHECKING:
    from refimpl.csi.fake import FakeDriver

__all__ = ["open_leftovers", "open_target"]

_NEWEST = "1.13"


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


def _started(resolved: ResolvedTarget) -> CsiTarget:
    process = supervised(resolved.command)
    try:
        process.start().ready()
        return CsiTarget([process.endpoint], resolved, process=process, command=resolved.command)
    except (Unreachable, BadOption):
        process.close()
        raise


def _faked(resolved: ResolvedTarget) -> CsiTarget:
    """Our own fake in this process: `fake`, `fake:PROFILE`, `mutant:NAME`, `unbroken:NAME`."""
    fake, number, command = (_of_profile if resolved.scheme == "fake" else _of_mutant)(resolved)
    fake.start()
    try:
        chosen = known.of_fake(fake, resolved.settings)
        judged = attrs.evolve(resolved, revision=resolved.judged_by(number))
        return CsiTarget(fake.nodes, judged, chosen=chosen, fake=fake, command=command)
    except BaseException:
        fake.stop()
        raise


def _of_profile(resolved: ResolvedTarget) -> tuple[FakeDriver, Any, list[str]]:
    """The fake, its revision, and what starts another one."""
    from refimpl.csi.fake import FakeDriver  # a real driver does not pay for it

    profile = resolved.address or "default"
    number: Any = resolved.judged_by(_NEWEST).number
    try:
        fake = FakeDriver(profile=profile, revision=number, nodes=2)
    except ValueError as error:
        raise BadOption(f"fake:{profile}: {error}") from error
    command = [sys.executable, "-m", "refimpl", "serve", "csi", "{endpoint}"]
    return (
        fake,
        number,
        [*command, "--state-dir", "{dir}", "--profile", profile, "--revision", number],
    )


def _of_mutant(resolved: ResolvedTarget) -> tuple[FakeDriver, Any, list[str]]:
    """As `_of_profile`, broken or whole in the shape that the mutant breaks."""
    from refimpl.csi.fake import FakeDriver

    mutant, broken = mutants.load("csi", resolved.address), resolved.scheme == "mutant"
    number: Any = mutant.chosen().get("revision", resolved.judged_by(_NEWEST).number)
    fake = mutants.fake(FakeDriver, mutant, broken=broken, revision=number)
    return fake, number, mutants.command("csi", resolved.address, broken=broken)
