"""CreateVolume: what makes a volume, and that asking again makes no second one."""

from __future__ import annotations

from conformance.csi.needs import CREATE_DELETE_VOLUME
from conformance.csi.target import CsiTarget
from conformance.engine.case import MUST, case
from conformance.engine.verdict import expect, expect_status
from refimpl.wire.status import Code


@case("CSI-CTRL-001", MUST, "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_volume_without_a_name_is_refused(csi: CsiTarget) -> None:
    """The name is what makes a retry safe; a volume without one could never be asked for again."""
    request = csi.volume_request(name="")
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.INVALID_ARGUMENT},
        "CreateVolume without a name is refused",
    )


@case("CSI-CTRL-019", MUST, "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_repeated_create_returns_the_same_volume(csi: CsiTarget) -> None:
    """An orchestrator that lost the first answer asks again; a second volume would leak."""
    request = csi.volume_request()
    first = csi.volume(request)
    again = csi.volume(request)
    expect(again == first, "the same request makes the same volume", wanted=first, got=again)
