"""Calls that must not go through, and what they must not leave behind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from conformance.csi.common import pagination
from conformance.csi.needs import LIST_VOLUMES
from conformance.csi.target import CsiTarget
from conformance.engine.verdict import Broken, Unjudged, eventually, expect
from refimpl.wire.status import Code, Refused


def expect_refusal(call: Callable[[], object], rule: str) -> Refused:
    """Makes the call; raises Broken unless it is refused, with whatever code, and Unjudged where
    it is refused for something else."""
    try:
        reply = call()
    except Unjudged:
        raise
    except Refused as refusal:
        return refusal
    raise Broken(rule, "an error", f"OK, {' '.join(str(reply).split())}")


def code_of(call: Callable[[], object]) -> Code:
    """Makes the call; the code it is answered with, for rules that any code may satisfy."""
    try:
        call()
    except Refused as refusal:
        return refusal.code
    return Code.OK


def expect_room(call: Callable[[], object], rule: str) -> None:
    """Makes the call on a target that was full and has room for it: that it is full still is a
    breach here."""
    code = code_of(call)
    expect(code == Code.OK, rule, wanted="OK", got=code.name)


@contextlib.contextmanager
def makes_no_volume(csi: CsiTarget, what: str) -> Iterator[None]:
    """Nothing that happens inside leaves a volume behind; only LIST_VOLUMES lets that be seen.

    Others may work on the same driver: their volumes get time to go away again.
    """
    if not csi.has(LIST_VOLUMES):
        yield
        return
    listed = pagination.volumes(csi).ids
    before = set(listed())
    yield
    left = set(listed()) - before
    rule = f"{what} leaves no volume behind"
    with contextlib.suppress(Broken):
        eventually(lambda: left.isdisjoint(listed()), 3.0, rule)
        return
    expect(False, rule, wanted="no further volume in ListVolumes", got=sorted(left))
