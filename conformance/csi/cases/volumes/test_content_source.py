"""CreateVolume with a content source that the driver does not know or that names nothing."""

from __future__ import annotations

from functools import partial

from conformance.csi.common.refusals import code_of
from conformance.csi.needs import (
    CLONE_VOLUME,
    CREATE_DELETE_SNAPSHOT,
    CREATE_DELETE_VOLUME,
    without,
)
from conformance.csi.requests import from_snapshot, from_volume
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import AnyOf
from conformance.engine.verdict import expect, expect_status, together
from refimpl.wire.status import Code


@case(
    "CSI-CTRL-051",
    "CSI 1.13 CreateVolume",
    needs=[
        CREATE_DELETE_VOLUME,
        AnyOf((without(CLONE_VOLUME), without(CREATE_DELETE_SNAPSHOT))),
    ],
)
def test_a_source_the_driver_cannot_copy_is_refused(csi: CsiTarget) -> None:
    """A driver that ignores the source hands out an empty volume as a restored one."""
    sources = {}
    if CLONE_VOLUME.unmet(csi):
        sources["a volume"] = from_volume(csi.shared.volume().volume_id)
    if CREATE_DELETE_SNAPSHOT.unmet(csi):
        sources["a snapshot"] = from_snapshot(csi.requests.unknown_snapshot_id())
    with together() as check:
        for what, source in sources.items():
            with check:
                expect_status(
                    partial(csi.controller.CreateVolume, csi.requests.volume(source=source)),
                    {Code.INVALID_ARGUMENT},
                    f"{what} as source of a driver that does not advertise it is refused",
                )


@case("CSI-CTRL-052", "CSI 1.13 VolumeContentSource", needs=[CREATE_DELETE_VOLUME])
def test_a_source_that_names_nothing_is_refused(csi: CsiTarget) -> None:
    """Somebody meant to copy something: a kind of source that this driver does not know yet. What
    a driver makes of nothing may bring it down at the next call, which is therefore made here."""
    request = csi.requests.volume()
    request.volume_content_source.SetInParent()
    code = code_of(lambda: csi.controller.CreateVolume(request))
    after = code_of(lambda: csi.controller.CreateVolume(csi.requests.volume()))
    expect(
        code == Code.INVALID_ARGUMENT and after == Code.OK,
        "a volume_content_source with neither snapshot nor volume is refused, and that is all",
        wanted="INVALID_ARGUMENT, and OK for the CreateVolume after it",
        got=f"{code.name}, and {after.name} for the CreateVolume after it",
    )
