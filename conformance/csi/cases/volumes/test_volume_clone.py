"""CreateVolume from another volume."""

from __future__ import annotations

from conformance.csi.common import content
from conformance.csi.common.copies import (
    access_types,
    expect_copied,
    expect_grown,
    expect_not_smaller,
)
from conformance.csi.common.repeats import expect_same, expect_taken
from conformance.csi.needs import CLONE_VOLUME, CREATE_DELETE_VOLUME, DATA, MOUNTS, ROOT
from conformance.csi.requests import from_volume
from conformance.csi.steps import Mounted
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

NEEDS = [CREATE_DELETE_VOLUME, CLONE_VOLUME]


@case("CSI-CTRL-045", "CSI 1.13 VolumeContentSource", needs=NEEDS)
def test_a_volume_can_be_cloned(csi: CsiTarget) -> None:
    """The provisioner deletes a clone that does not name its source, and tries for ever."""
    original = csi.shared.volume()
    source = from_volume(original.volume_id)
    copy = csi.steps.volume(csi.requests.volume(source=source))
    expect_copied(copy, source, original.capacity_bytes)


@case("CSI-CTRL-046", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_source_volume_that_does_not_exist_is_not_found(csi: CsiTarget) -> None:
    """An empty volume instead would pass for a copy."""
    source = from_volume(csi.requests.unknown_volume_id())
    expect_status(
        lambda: csi.controller.CreateVolume(csi.requests.volume(source=source)),
        {Code.NOT_FOUND},
        "a clone of an unknown volume is refused",
    )


@case("CSI-CTRL-047", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_repeated_clone_returns_the_same_volume(csi: CsiTarget) -> None:
    """Copies take longer than callers wait: without this a large clone never comes to an end."""
    request = csi.requests.volume(source=from_volume(csi.shared.volume().volume_id))
    expect_same(csi, request, csi.steps.volume(request), "the same clone gives the same volume")


@case("CSI-CTRL-048", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_clone_of_another_size_holds_its_source_or_is_refused(csi: CsiTarget) -> None:
    """A smaller one cannot hold the data; a larger one has to show its size, if it is made."""
    original = csi.shared.volume()
    source = from_volume(original.volume_id)
    size = original.capacity_bytes or csi.requests.size
    expect_not_smaller(csi, size, source)
    if csi.has(ROOT, MOUNTS, DATA):
        for block in access_types(csi):
            expect_grown(csi, lambda volume: from_volume(volume.volume_id), block=block)
        return
    larger = csi.requests.volume(required=csi.sizes.at_least(2 * size), source=source)
    reply = expect_status(
        lambda: csi.controller.CreateVolume(larger),
        {Code.OK, Code.OUT_OF_RANGE},
        "a clone larger than its source is made or refused as out of range",
    )
    if reply is not None:
        expect_copied(reply.volume, source, 2 * size)


@case("CSI-CTRL-049", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_clone_stands_for_itself(csi: CsiTarget) -> None:
    """Test environments are cloned from clones; the first of them is long gone by then."""
    request = csi.requests.volume()
    first = csi.steps.volume(request)
    written = content.fresh()
    if csi.has(DATA):
        _write(csi, first, written)
    itself = csi.requests.volume(
        request.name, required=csi.requests.size, source=from_volume(first.volume_id)
    )
    expect_taken(csi, itself, "a volume is no clone of itself: its name is taken")
    last = first
    for _ in range(5):
        source = from_volume(last.volume_id)
        last = csi.steps.volume(csi.requests.volume(source=source))
        expect_copied(last, source, first.capacity_bytes)
    expect_status(
        lambda: csi.controller.DeleteVolume(csi.requests.delete(first.volume_id)),
        {Code.OK, Code.FAILED_PRECONDITION},
        "a volume that was cloned is deleted, or refused while clones need it",
    )
    csi.controller.ValidateVolumeCapabilities(csi.requests.validate(last))
    if csi.has(DATA):
        content.expect_content(
            csi.steps.mount(last), written, "a clone of clones has the content of the first volume"
        )


@case("CSI-CTRL-050", "CSI 1.13 VolumeContentSource", needs=[*NEEDS, DATA])
def test_a_clone_and_its_source_change_apart(csi: CsiTarget) -> None:
    """A clone is made to try something out; what is tried must not reach the original."""
    original = csi.steps.volume(csi.requests.volume())
    before, on_source, on_clone = content.fresh(), content.fresh(), content.fresh()
    _write(csi, original, before)
    request = csi.requests.volume(
        required=csi.requests.size, source=from_volume(original.volume_id)
    )
    copied = csi.steps.volume(request)
    source = csi.steps.mount(original)
    content.write(source, on_source)
    clone = csi.steps.mount(copied)
    with together() as check:
        with check:
            content.expect_content(
                clone, before, "a clone has what its source held when it was made"
            )
        content.write(clone, on_clone)
        with check:
            content.expect_content(
                source, on_source, "what is written to a clone leaves the source alone"
            )


def _write(csi: CsiTarget, volume: pb.Volume, written: bytes) -> None:
    """Publishes, writes, and takes the volume back: what lies on it is on disk."""
    mounted: Mounted = csi.steps.mount(volume)
    content.write(mounted, written)
    csi.steps.withdraw(mounted)
