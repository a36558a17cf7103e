"""CreateVolume from a snapshot."""

from __future__ import annotations

import pytest

from conformance.csi.common.copies import (
    access_types,
    expect_copied,
    expect_grown,
    expect_not_smaller,
)
from conformance.csi.common.repeats import expect_same, expect_taken
from conformance.csi.needs import (
    BLOCK,
    CREATE_DELETE_SNAPSHOT,
    CREATE_DELETE_VOLUME,
    DATA,
    MOUNT,
    MOUNTS,
    ROOT,
)
from conformance.csi.requests import from_snapshot
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.wire.status import Code

NEEDS = [CREATE_DELETE_VOLUME, CREATE_DELETE_SNAPSHOT]


@case("CSI-CTRL-038", "CSI 1.13 VolumeContentSource", needs=NEEDS)
def test_a_snapshot_can_be_restored(csi: CsiTarget) -> None:
    """A driver that takes snapshots but gives nothing back is found out on the worst day."""
    snapshot = csi.steps.snapshot(csi.shared.volume())
    source = from_snapshot(snapshot.snapshot_id)
    restored = csi.steps.volume(csi.requests.volume(source=source))
    expect_copied(restored, source, snapshot.size_bytes)


@case("CSI-CTRL-039", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_snapshot_that_does_not_exist_is_not_found(csi: CsiTarget) -> None:
    """An empty volume instead would look like a restore that lost everything."""
    source = from_snapshot(csi.requests.unknown_snapshot_id())
    expect_status(
        lambda: csi.controller.CreateVolume(csi.requests.volume(source=source)),
        {Code.NOT_FOUND},
        "a restore from an unknown snapshot is refused",
    )


@case("CSI-CTRL-040", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_restore_smaller_than_its_snapshot_is_refused(csi: CsiTarget) -> None:
    """Part of the data would be missing, and with it the file system's last blocks."""
    volume = csi.shared.volume()
    snapshot = csi.steps.snapshot(volume)
    size = snapshot.size_bytes or volume.capacity_bytes or csi.requests.size
    expect_not_smaller(csi, size, from_snapshot(snapshot.snapshot_id))


@case("CSI-CTRL-041", "CSI 1.13 CreateVolume", needs=[*NEEDS, MOUNTS, DATA, ROOT])
def test_a_restore_larger_than_its_snapshot_has_data_and_size(csi: CsiTarget) -> None:
    """A claim that asks for more gets more: a file system left at its old size hides the rest."""
    with together() as check:
        for block in access_types(csi):
            with check:
                expect_grown(
                    csi,
                    lambda volume: from_snapshot(csi.steps.snapshot(volume).snapshot_id),
                    block=block,
                )


@case("CSI-CTRL-042", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_repeated_restore_returns_the_same_volume(csi: CsiTarget) -> None:
    """Restores take long and are asked for again; each repeat must not copy anew."""
    source = from_snapshot(csi.steps.snapshot(csi.shared.volume()).snapshot_id)
    request = csi.requests.volume(source=source)
    expect_same(csi, request, csi.steps.volume(request), "the same restore gives the same volume")


@case("CSI-CTRL-043", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_repeated_create_with_another_source_is_refused(csi: CsiTarget) -> None:
    """A claim restored from Monday must not be answered with Sunday, or with nothing at all."""
    volume = csi.shared.volume()
    monday, sunday = csi.steps.snapshot(volume).snapshot_id, csi.steps.snapshot(volume).snapshot_id
    empty, restored = csi.shared.request(), csi.requests.volume(source=from_snapshot(monday))
    csi.steps.volume(restored)
    with together() as check:
        for what, name, source in (
            ("another snapshot", restored.name, from_snapshot(sunday)),
            ("no source", restored.name, None),
            ("a source where it had none", empty.name, from_snapshot(monday)),
        ):
            with check:
                request = csi.requests.volume(name, source=source)
                expect_taken(
                    csi, request, f"the name of a volume, asked for with {what}, is refused"
                )


@case("CSI-CTRL-044", "robustness: a snapshot that is not ready", needs=NEEDS)
def test_a_snapshot_that_is_not_ready_is_refused_for_now(csi: CsiTarget) -> None:
    """The provisioner asks again after these codes; others give the claim up, or lose its data."""
    request = csi.requests.snapshot(csi.shared.volume().volume_id)
    snapshot = csi.controller.CreateSnapshot(request).snapshot
    if snapshot.ready_to_use:
        pytest.skip("the driver's snapshots are ready at once")
    restore = csi.requests.volume(source=from_snapshot(snapshot.snapshot_id))
    reply = expect_status(
        lambda: csi.controller.CreateVolume(restore),
        {Code.OK, Code.FAILED_PRECONDITION, Code.ABORTED, Code.UNAVAILABLE},
        "a restore from a snapshot that is not ready waits for it or is refused for now",
    )
    expect(
        reply is None or csi.controller.CreateSnapshot(request).snapshot.ready_to_use,
        "a volume comes of a snapshot that is ready",
        wanted="a refusal, or ready_to_use",
        got=reply,
    )


@case("CSI-CTRL-053", "CSI 1.13 CreateVolume", needs=[*NEEDS, BLOCK, MOUNT])
def test_a_restore_as_another_access_type_is_taken_or_refused(csi: CsiTarget) -> None:
    """A file system on what was a raw device is rarely meant; the answer has to stay the same."""
    size = csi.requests.size
    source = csi.steps.volume(
        csi.requests.volume(required=size, capabilities=[csi.requests.capability(block=True)])
    )
    restore = csi.requests.volume(
        required=size,
        capabilities=[csi.requests.capability(block=False)],
        source=from_snapshot(csi.steps.snapshot(source).snapshot_id),
    )
    answers = [
        expect_status(
            lambda: csi.controller.CreateVolume(restore),
            {Code.OK, Code.INVALID_ARGUMENT},
            "a block snapshot asked for as mount makes a volume or is refused",
        )
        for _ in range(2)
    ]
    expect(
        answers[0] == answers[1],
        "a block snapshot asked for as mount gives one answer, however often",
        wanted=answers[0] or Code.INVALID_ARGUMENT.name,
        got=answers[1] or Code.INVALID_ARGUMENT.name,
    )
