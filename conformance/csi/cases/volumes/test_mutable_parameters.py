"""CreateVolume with parameters that can be changed later."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.csi.common.refusals import makes_no_volume
from conformance.csi.common.repeats import expect_taken
from conformance.csi.needs import (
    CREATE_DELETE_VOLUME,
    MODIFY_VOLUME,
    MUTABLE_PARAMETERS,
    OTHER_MUTABLE_PARAMETERS,
    without,
)
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

NEEDS = [CREATE_DELETE_VOLUME, MODIFY_VOLUME]


@case("CSI-CTRL-062", "CSI 1.13 CreateVolume", needs=[*NEEDS, MUTABLE_PARAMETERS])
def test_a_volume_is_made_with_mutable_parameters(csi: CsiTarget) -> None:
    """A claim with a VolumeAttributesClass gets its first values here, not by a later change."""
    csi.steps.volume(_request(csi, csi.settings.mutable_parameters))


@case("CSI-CTRL-063", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_an_unknown_mutable_parameter_is_refused(csi: CsiTarget) -> None:
    """Ignored, a misspelt class promises a speed that nobody delivers and nobody can find out."""
    request = _request(csi, {"refimpl-unknown": "1"})
    with makes_no_volume(csi, "an unknown mutable parameter"):
        expect_status(
            lambda: csi.controller.CreateVolume(request),
            {Code.INVALID_ARGUMENT},
            "an unknown mutable parameter is refused",
        )


@case(
    "CSI-CTRL-064",
    "CSI 1.13 CreateVolume",
    needs=[*NEEDS, MUTABLE_PARAMETERS, OTHER_MUTABLE_PARAMETERS],
)
def test_mutable_parameters_win_over_parameters(csi: CsiTarget) -> None:
    """The class a user chose overrides the default that an administrator wrote into the storage
    class. ValidateVolumeCapabilities tells which value holds, if the driver looks at it at all."""
    chosen, default = csi.settings.mutable_parameters, csi.settings.other_mutable_parameters
    request = _request(csi, chosen)
    request.parameters.update(default)
    reply = expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OK, Code.INVALID_ARGUMENT},
        "a key in parameters and mutable_parameters makes a volume, or is none of the parameters",
    )
    if reply is None:
        pytest.skip("the driver takes its mutable parameters as such only")
    if _holds(csi, reply.volume, default) and _holds(csi, reply.volume, chosen):
        pytest.skip("ValidateVolumeCapabilities of this driver confirms any mutable parameter")
    expect(
        _holds(csi, reply.volume, chosen),
        "a value in mutable_parameters wins over one in parameters",
        wanted=f"{dict(chosen)} confirmed by ValidateVolumeCapabilities",
        got="not confirmed",
    )


@case(
    "CSI-CTRL-065",
    "CSI 1.13 CreateVolume",
    needs=[*NEEDS, MUTABLE_PARAMETERS, OTHER_MUTABLE_PARAMETERS],
)
def test_a_repeated_create_with_other_mutable_parameters_is_refused(csi: CsiTarget) -> None:
    """The volume that exists has other values, and answering with it hides that.

    The text counts them among what has to fit, but the table of errors leaves them out.
    """
    first = _request(csi, csi.settings.mutable_parameters)
    csi.steps.volume(first)
    other = _request(csi, csi.settings.other_mutable_parameters)
    other.name = first.name
    rule = "the name of a volume, asked for with other mutable parameters, is refused"
    expect_taken(csi, other, rule)


@case(
    "CSI-CTRL-066",
    "CSI 1.13 CreateVolume",
    needs=[CREATE_DELETE_VOLUME, without(MODIFY_VOLUME)],
)
def test_a_driver_that_cannot_modify_takes_no_mutable_parameters(csi: CsiTarget) -> None:
    """They may not be sent to it, and ignored they promise what will never come."""
    request = _request(csi, csi.settings.mutable_parameters or {"refimpl-unknown": "1"})
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.INVALID_ARGUMENT},
        "mutable_parameters sent to a driver without MODIFY_VOLUME are refused",
    )


def _request(csi: CsiTarget, mutable: Mapping[str, str]) -> pb.CreateVolumeRequest:
    request = csi.requests.volume()
    request.mutable_parameters.update(mutable)
    return request


def _holds(csi: CsiTarget, volume: pb.Volume, mutable: Mapping[str, str]) -> bool:
    request = csi.requests.validate(volume)
    request.mutable_parameters.update(mutable)
    return csi.controller.ValidateVolumeCapabilities(request).HasField("confirmed")
