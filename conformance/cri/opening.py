"""Opens a runtime as the user names it: at its socket, or our fake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from conformance.cri.settings import CriSettings
from conformance.cri.target import CriTarget
from conformance.engine import mutants
from conformance.engine.ledger import pods
from conformance.engine.ledger.leftovers import Leftovers
from conformance.engine.options import BadOption
from conformance.engine.targets.resolve import ResolvedTarget

if TYPE_CHECKING:
    from refimpl.cri.fake import FakeRuntime

__all__ = ["HANDLER", "IMAGE", "PLAIN", "open_leftovers", "open_target"]

IMAGE = "refimpl.example/shell:1"
"""What our fake has of images when a run begins."""
HANDLER, PLAIN = "other", "plain"
"""Handlers of our fake beside the default one; the second has no features."""

_OPTIONS = {"virtual": {"plain": PLAIN}, "oci": {"plain": PLAIN, HANDLER: "runc", PLAIN: "runc"}}


def open_target(resolved: ResolvedTarget) -> CriTarget:
    """Opens a runtime; raises BadOption or wire.client.Unreachable."""
    if not resolved.ours:
        return CriTarget(resolved.endpoint, resolved)
    fake = _faked(resolved)
    chosen: CriSettings = resolved.settings
    settings = msgspec.structs.replace(chosen, image=chosen.image or IMAGE)
    try:
        endpoint = str(fake.start())
        return CriTarget(endpoint, attrs.evolve(resolved, settings=settings), fake=fake)
    except BaseException:
        fake.stop()
        raise


def open_leftovers(resolved: ResolvedTarget) -> Leftovers:
    """What a sweep works with; raises as `open_target`."""
    return pods.leftovers(resolved.endpoint)


def _faked(resolved: ResolvedTarget) -> FakeRuntime:
    """`fake`, `fake:PROFILE`, `fake:MODEL`, `fake:PROFILE,MODEL`, `mutant:NAME`, `unbroken:NAME`;
    not started yet."""
    from refimpl.cri.fake import FakeRuntime  # a real runtime does not pay for it

    choices: dict[str, Any] = {"handlers": ("", HANDLER, PLAIN), "images": (IMAGE,)}

    if resolved.scheme == "fake":
        try:
            return FakeRuntime(**_optional(_chosen(resolved.address)), **choices)
        except ValueError as error:
            raise BadOption(f"fake:{resolved.address}: {error}") from error
    mutant, broken = mutants.load("cri", resolved.address), resolved.scheme == "mutant"
    choices |= _optional(mutant.chosen())
    fake: FakeRuntime = mutants.fake(FakeRuntime, mutant, broken=broken, **choices)
    return fake


def _optional(chosen: dict[str, Any]) -> dict[str, Any]:
    """With the options of a model: one handler has no features."""
    options = _OPTIONS.get(chosen.get("model", "virtual"))
    return {**chosen, "model_options": options} if options else chosen


def _chosen(address: str) -> dict[str, Any]:
    """Profile and process model, by name; what is no model is a profile."""
    from refimpl.cri.models import MODELS

    words = [word for word in address.split(",") if word]
    kinds = ["model" if word in MODELS else "profile" for word in words]
    if len(set(kinds)) < len(kinds):
        raise ValueError("one profile and one process model at most")
    return dict(zip(kinds, words, strict=True))
