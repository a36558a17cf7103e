"""DeleteVolume: gone for good, but never while somebody needs it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from conformance.csi.common import content, mounts, pagination
from conformance.csi.needs import (
    BACKING,
    CLONE_VOLUME,
    CREATE_DELETE_SNAPSHOT,
    CREATE_DELETE_VOLUME,
    DATA,
    LIST_SNAPSHOTS,
    NODE_ID,
    PUBLISH_UNPUBLISH_VOLUME,
    ROOT,
)
from conformance.csi.requests import from_snapshot, from_volume
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code


@case("CSI-CTRL-070", "CSI 1.13 DeleteVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_deletion_without_an_id_is_refused(csi: CsiTarget) -> None:
    """A caller that lost the id must hear of it; a driver must not take it for all or for none."""
    expect_status(
        lambda: csi.controller.DeleteVolume(csi.requests.delete("")),
        {Code.INVALID_ARGUMENT},
        "DeleteVolume without volume_id is refused",
    )


@case("CSI-CTRL-071", "CSI 1.13 DeleteVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_volume_that_does_not_exist_is_deleted(csi: CsiTarget) -> None:
    """Somebody cleaned up by hand, and the PersistentVolume would never go away otherwise."""
    volume = csi.steps.volume()
    with together() as check:
        with check:
            _expect_deleted(csi, volume.volume_id, "a volume of the driver's own")
        with check:
            _expect_deleted(csi, volume.volume_id, "an id that the driver once gave")
        with check:
            expect_status(
                lambda: csi.controller.DeleteVolume(
                    csi.requests.delete(csi.requests.unknown_volume_id())
                ),
                {Code.OK, Code.INVALID_ARGUMENT},
                "an id that the driver never gave counts as deleted, or as no id of its own",
            )


@case("CSI-CTRL-072", "CSI 1.13 DeleteVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_repeated_deletion_succeeds(csi: CsiTarget) -> None:
    """The provisioner that lost the first answer asks again, and needs an answer to end with."""
    volume = csi.steps.volume()
    with together() as check:
        for time in ("first", "second", "third"):
            with check:
                _expect_deleted(csi, volume.volume_id, f"the same volume for the {time} time")


@case(
    "CSI-CTRL-073",
    "CSI 1.13 DeleteVolume",
    needs=[CREATE_DELETE_VOLUME, PUBLISH_UNPUBLISH_VOLUME, NODE_ID],
)
def test_a_volume_attached_to_a_node_is_not_deleted(csi: CsiTarget) -> None:
    """A pod writes to it; deleted under it, the data is gone and the node keeps a dead device."""
    volume = csi.steps.volume()
    csi.steps.attach(volume)
    _expect_refused(csi, volume, "a volume that is published to a node")


@case("CSI-CTRL-074", "CSI 1.13 DeleteVolume", needs=[CREATE_DELETE_VOLUME, DATA])
def test_a_volume_in_use_by_a_pod_keeps_its_data(csi: CsiTarget) -> None:
    """The last line of defence when everything above it has lost track of who uses what."""
    written = content.fresh()
    mounted = csi.steps.mount(csi.steps.volume(csi.requests.volume()))
    if csi.has(ROOT):  # a driver that has deleted the volume may no longer unmount it
        csi.scope.callback(partial(mounts.uncover, mounted.target_path))
    content.write(mounted, written)
    _expect_refused(csi, mounted.volume, "a volume that is published on a node")
    content.expect_content(mounted, written, "a volume that was not deleted has its data")


@case(
    "CSI-CTRL-075",
    "CSI 1.13 DeleteVolume",
    needs=[CREATE_DELETE_VOLUME, CREATE_DELETE_SNAPSHOT],
)
def test_a_snapshot_survives_its_volume_or_keeps_it(csi: CsiTarget) -> None:
    """Backups are made for the day the volume is gone; half a deletion loses both."""
    volume = csi.steps.volume()
    source = from_snapshot(csi.steps.snapshot(volume).snapshot_id)
    _delete_or_keep(csi, volume, "the source of a snapshot")
    with together() as check:
        if csi.has(LIST_SNAPSHOTS):
            id = source.snapshot.snapshot_id
            with check:
                expect(
                    pagination.snapshots(csi, snapshot_id=id).find(id),
                    "a snapshot whose volume was deleted is still listed",
                    wanted=f"{id} in ListSnapshots",
                    got="no such entry",
                )
        csi.steps.volume(csi.requests.volume(source=source))


@case("CSI-CTRL-076", "CSI 1.13 DeleteVolume", needs=[CREATE_DELETE_VOLUME, CLONE_VOLUME])
def test_a_clone_and_its_source_are_deleted_apart(csi: CsiTarget) -> None:
    """Neither owner knows of the other: what one deletes must not pull the other's data away."""
    with together() as check:
        for first in ("source", "clone"):
            source = csi.steps.volume()
            clone = csi.steps.volume(csi.requests.volume(source=from_volume(source.volume_id)))
            deleted, other = (source, clone) if first == "source" else (clone, source)
            with check:
                _delete_or_keep(csi, deleted, f"the {first} of a pair")
            with check:
                _expect_there(csi, other, f"deleting the {first} leaves the other volume")


@case("CSI-CTRL-077", "CSI 1.13 DeleteVolume", needs=[CREATE_DELETE_VOLUME, DATA, BACKING])
def test_nothing_is_left_of_a_deleted_volume(csi: CsiTarget) -> None:
    """Files and images that stay fill the back end up, and hold data somebody wanted gone."""
    before = _backing(csi)
    mounted = csi.steps.mount(csi.steps.volume(csi.requests.volume()))
    content.write(mounted, content.fresh())
    files = _backing(csi) - before
    if not files:
        pytest.skip(f"the driver puts nothing into {csi.settings.backing_dir}")
    csi.steps.withdraw(mounted)
    csi.controller.DeleteVolume(csi.requests.delete(mounted.volume.volume_id))
    # Others may work on the same driver: what they made meanwhile goes when they are done.
    eventually(lambda: not files & _backing(csi), 5.0, "all that was made of a volume goes with it")


@case("CSI-CTRL-078", "robustness: ids that are none", needs=[CREATE_DELETE_VOLUME])
def test_an_id_that_names_no_volume_deletes_nothing_else(csi: CsiTarget) -> None:
    """Ids become paths and names in a back end; one of another kind must not hit what is near."""
    volume = csi.steps.volume()
    ids = {"a path upwards": f"../{volume.volume_id}", "300 bytes": "x" * 300}
    snapshot = None
    if csi.has(CREATE_DELETE_SNAPSHOT):
        snapshot = csi.steps.snapshot(volume)
        ids["a snapshot's id"] = snapshot.snapshot_id
    with together() as check:
        for what, id in ids.items():
            with check:
                expect_status(
                    partial(csi.controller.DeleteVolume, csi.requests.delete(id)),
                    {Code.OK, Code.INVALID_ARGUMENT},
                    f"{what} as volume_id is no volume",
                )
        with check:
            _expect_there(csi, volume, "deleting an id that is none leaves other volumes")
        if snapshot:
            csi.steps.volume(csi.requests.volume(source=from_snapshot(snapshot.snapshot_id)))


def _expect_deleted(csi: CsiTarget, volume_id: str, what: str) -> None:
    expect_status(
        lambda: csi.controller.DeleteVolume(csi.requests.delete(volume_id)),
        {Code.OK},
        f"{what} is deleted",
    )


def _expect_refused(csi: CsiTarget, volume: pb.Volume, what: str) -> None:
    expect_status(
        lambda: csi.controller.DeleteVolume(csi.requests.delete(volume.volume_id)),
        {Code.FAILED_PRECONDITION},
        f"{what} is not deleted",
    )
    _expect_there(csi, volume, f"{what} stays after a refused deletion")


def _delete_or_keep(csi: CsiTarget, volume: pb.Volume, what: str) -> None:
    done = expect_status(
        lambda: csi.controller.DeleteVolume(csi.requests.delete(volume.volume_id)),
        {Code.OK, Code.FAILED_PRECONDITION},
        f"{what} is deleted, or refused while it is needed",
    )
    if done is None:
        _expect_there(csi, volume, f"{what} stays after a refused deletion")


def _expect_there(csi: CsiTarget, volume: pb.Volume, rule: str) -> None:
    expect_status(
        lambda: csi.controller.ValidateVolumeCapabilities(csi.requests.validate(volume)),
        {Code.OK},
        rule,
    )


def _backing(csi: CsiTarget) -> set[str]:
    """What lies in the driver's directory, three levels deep."""
    root = Path(csi.settings.backing_dir)
    names = set()
    for folder, folders, files in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        names |= {f"{folder}/{name}" for name in (*folders, *files)}
        if depth == 2:
            folders.clear()
    return names
