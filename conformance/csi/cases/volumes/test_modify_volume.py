"""ControllerModifyVolume: what a VolumeAttributesClass turns into."""

from __future__ import annotations

from functools import partial

from conformance.csi.needs import (
    CREATE_DELETE_VOLUME,
    MODIFY_VOLUME,
    MUTABLE_PARAMETERS,
    OTHER_MUTABLE_PARAMETERS,
)
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 ControllerModifyVolume"


@case("CSI-MOD-001", _SOURCE, needs=[MODIFY_VOLUME, CREATE_DELETE_VOLUME, MUTABLE_PARAMETERS])
def test_a_modification_that_lacks_a_required_field_is_refused(csi: CsiTarget) -> None:
    """Answered OK, a class that was never applied counts as applied for ever."""
    wanted = csi.settings.mutable_parameters
    with together() as check:
        for request, what in (
            (csi.requests.modify("", wanted), "volume_id"),
            (csi.requests.modify(csi.shared.volume().volume_id, {}), "mutable_parameters"),
        ):
            with check:
                expect_status(
                    partial(csi.controller.ControllerModifyVolume, request),
                    {Code.INVALID_ARGUMENT},
                    f"ControllerModifyVolume without {what} is refused",
                )


@case("CSI-MOD-002", _SOURCE, needs=[MODIFY_VOLUME, MUTABLE_PARAMETERS])
def test_a_volume_that_does_not_exist_is_not_modified(csi: CsiTarget) -> None:
    """The resizer would record a class for a volume that is gone."""
    request = csi.requests.modify(csi.requests.unknown_volume_id(), csi.settings.mutable_parameters)
    expect_status(
        lambda: csi.controller.ControllerModifyVolume(request),
        {Code.NOT_FOUND},
        "ControllerModifyVolume of an unknown volume, with good parameters, is not found",
    )


@case("CSI-MOD-003", _SOURCE, needs=[MODIFY_VOLUME, CREATE_DELETE_VOLUME])
def test_an_unsupported_mutable_parameter_is_refused(csi: CsiTarget) -> None:
    """Kubernetes calls a modification infeasible by this one code; OK hides a misspelt class."""
    request = csi.requests.modify(csi.shared.volume().volume_id, {"refimpl-unknown": "1"})
    expect_status(
        lambda: csi.controller.ControllerModifyVolume(request),
        {Code.INVALID_ARGUMENT},
        "ControllerModifyVolume with a parameter nobody knows is refused",
    )


@case("CSI-MOD-006", _SOURCE, needs=[MODIFY_VOLUME, CREATE_DELETE_VOLUME, MUTABLE_PARAMETERS])
def test_a_repeated_modification_is_done(csi: CsiTarget) -> None:
    """The resizer asks again after every answer it lost."""
    request = csi.requests.modify(csi.steps.volume().volume_id, csi.settings.mutable_parameters)
    for _ in range(2):
        expect_status(
            lambda: csi.controller.ControllerModifyVolume(request),
            {Code.OK},
            "ControllerModifyVolume is done, and done when repeated",
        )


@case(
    "CSI-MOD-008",
    _SOURCE,
    needs=[MODIFY_VOLUME, CREATE_DELETE_VOLUME, MUTABLE_PARAMETERS, OTHER_MUTABLE_PARAMETERS],
)
def test_a_modified_volume_stays_the_same_volume(csi: CsiTarget) -> None:
    """The PersistentVolume holds id and context for good; a changed one cannot be mounted."""
    request = csi.requests.volume()
    request.mutable_parameters.update(csi.settings.mutable_parameters)
    volume = csi.steps.volume(request)
    for parameters in (csi.settings.other_mutable_parameters, csi.settings.mutable_parameters):
        csi.controller.ControllerModifyVolume(csi.requests.modify(volume.volume_id, parameters))
    again = csi.steps.volume(request)
    rule = "a volume that was modified back and forth is the one that CreateVolume made"
    with together() as check:
        with check:
            expect(again.volume_id == volume.volume_id, rule, wanted=volume.volume_id, got=again)
        with check:
            expect(again.volume_context == volume.volume_context, rule, wanted=volume, got=again)
