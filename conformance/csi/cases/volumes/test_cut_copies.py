"""CreateVolume from a snapshot or a volume: a copy takes long enough to be cut."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import attrs
import pytest

from conformance.csi.common import cut_copies
from conformance.csi.needs import (
    CLONE_VOLUME,
    CREATE_DELETE_SNAPSHOT,
    CREATE_DELETE_VOLUME,
    SUPERVISED,
)
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import AnyOf, Need
from conformance.engine.runid import new_run_id
from conformance.engine.targets.supervise import Supervised
from conformance.engine.verdict import together

_NEEDS: list[Need] = [CREATE_DELETE_VOLUME, AnyOf((CREATE_DELETE_SNAPSHOT, CLONE_VOLUME))]
_CUTS: dict[str, cut_copies.Cut] = {
    "whose deadline passed": cut_copies.passes_its_deadline,
    "whose caller left": cut_copies.leaves,
}
_PARTS = (0.3, 0.7)  # of the time that a copy takes


@case("CSI-CTRL-082", "CSI 1.13 CreateVolume: idempotent", needs=_NEEDS)
def test_a_copy_that_was_cut_is_finished_when_asked_for_again(csi: CsiTarget) -> None:
    """Copies outlast the deadline of the provisioner, which asks again. A driver that finds half a
    volume of its own and calls it somebody else's leaves the claim pending for ever."""
    first = cut_copies.original(csi)
    with together() as check:
        for kind, way in cut_copies.ways(csi, first).items():
            with check:
                for (how, cut), part in itertools.product(_CUTS.items(), _PARTS):
                    request = cut_copies.copy_request(csi, first, way.source)
                    cut(csi, request, part * way.usual_s)
                    cut_copies.expect_finished(csi, request, first, f"a {kind} {how}")


@case("CSI-CTRL-083", "CSI 1.13 CreateVolume: idempotent", needs=[*_NEEDS, SUPERVISED])
def test_a_copy_that_a_kill_cut_is_finished_when_asked_for_again(csi: CsiTarget) -> None:
    """A node goes down amid a copy. What a driver wrote of it must not pass for the whole, and must
    not stand in the way of the next try."""
    with _own_process(csi) as (process, own):
        first = cut_copies.original(own)
        with together() as check:
            for kind, way in cut_copies.ways(own, first).items():
                request = cut_copies.copy_request(own, first, way.source)
                cut_copies.interrupted(own, request, way.usual_s / 2, process.kill)
                process.start().ready()
                if cut_copies.forgotten(own, first):
                    pytest.skip("the driver keeps nothing over a restart")
                with check:
                    cut_copies.expect_finished(own, request, first, f"a {kind} cut by a kill")


@contextlib.contextmanager
def _own_process(csi: CsiTarget) -> Iterator[tuple[Supervised, CsiTarget]]:
    """Another process of the driver, as a target of its own."""
    process = csi.new_process()
    try:
        process.start().ready()
        resolved = attrs.evolve(csi.resolved, run_id=new_run_id())
        own = CsiTarget([process.endpoint], resolved, chosen=csi.settings)
        try:
            yield process, own
        finally:
            own.close()
    finally:
        process.close()
