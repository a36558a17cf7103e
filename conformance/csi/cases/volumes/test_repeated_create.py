"""CreateVolume with a name that exists: the same volume, or a clear no."""

from __future__ import annotations

import pytest

from conformance.csi.common import pagination
from conformance.csi.common.repeats import expect_taken
from conformance.csi.needs import (
    BLOCK,
    CREATE_DELETE_VOLUME,
    GET_VOLUME,
    LIST_VOLUMES,
    MOUNT,
    NODE_ID,
    OTHER_PARAMETERS,
)
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code


@case("CSI-CTRL-022", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME, BLOCK, MOUNT])
def test_a_repeated_create_with_another_access_type_is_refused(csi: CsiTarget) -> None:
    """A pod that wants a device would get a directory, and learn of it only when it starts."""
    size = csi.requests.size
    mount, block = (csi.requests.capability(block=block) for block in (False, True))
    first = csi.requests.volume(required=size, capabilities=[mount])
    csi.steps.volume(first)
    other = csi.requests.volume(first.name, required=size, capabilities=[block])
    expect_taken(csi, other, "the name of a mount volume, asked for as block, is refused")


@case("CSI-CTRL-023", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_repeated_create_with_a_mode_the_volume_lacks_is_refused(csi: CsiTarget) -> None:
    """A claim made shared between two tries must not bind to a volume for one node."""
    first, volume = csi.shared.request(), csi.shared.volume()
    modes = (mode for mode in Mode.Mode.values() if mode != Mode.UNKNOWN)
    lacking = next((mode for mode in modes if not _serves(csi, volume, mode)), None)
    if lacking is None:
        pytest.skip("the driver says that this volume can be used in every mode")
    other = csi.requests.volume(
        first.name, capabilities=[csi.requests.capability(), csi.requests.capability(lacking)]
    )
    expect_status(
        lambda: csi.controller.CreateVolume(other),
        {Code.ALREADY_EXISTS, Code.INVALID_ARGUMENT},
        f"a volume that lacks {Mode.Mode.Name(lacking)} is not the answer to who asks for it",
    )


def _serves(csi: CsiTarget, volume: pb.Volume, mode: Mode.Mode.ValueType) -> bool:
    request = csi.requests.validate(volume, [csi.requests.capability(mode)])
    return csi.controller.ValidateVolumeCapabilities(request).HasField("confirmed")


@case("CSI-CTRL-024", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME, OTHER_PARAMETERS])
def test_a_repeated_create_with_other_parameters_is_refused(csi: CsiTarget) -> None:
    """A storage class made anew under its old name would hand out what the old one meant."""
    first = csi.requests.volume()
    csi.steps.volume(first)
    other = csi.requests.volume(first.name, parameters=csi.settings.other_parameters)
    expect_taken(csi, other, "the name of a volume, asked for with other parameters, is refused")


@case("CSI-CTRL-025", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_other_secrets_do_not_make_another_volume(csi: CsiTarget) -> None:
    """Passwords are changed while claims are being served; they say who asks, not for what."""
    request, volume = csi.shared.request(), csi.shared.volume()
    request.secrets["refimpl-other"] = "1"
    again = expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OK, Code.UNAUTHENTICATED, Code.PERMISSION_DENIED},
        "the same request with one more secret is the same request, or not allowed",
    )
    expect(
        again is None or again.volume.volume_id == volume.volume_id,
        "the same request with one more secret gives the same volume",
        wanted=volume.volume_id,
        got=again,
    )


@case("CSI-CTRL-026", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_the_name_of_a_deleted_volume_makes_a_new_one(csi: CsiTarget) -> None:
    """A driver that answers from memory binds a claim to a disk that is no longer there."""
    request = csi.requests.volume()
    volume = csi.steps.volume(request)
    csi.controller.DeleteVolume(csi.requests.delete(volume.volume_id))
    again = csi.steps.volume(request)
    answer = expect_status(
        lambda: csi.controller.ValidateVolumeCapabilities(csi.requests.validate(again)),
        {Code.OK},
        "the volume made after a deletion exists",
    )
    expect(
        answer is not None and answer.HasField("confirmed"),
        "the volume made after a deletion can be used",
        wanted="confirmed by ValidateVolumeCapabilities",
        got=answer,
    )


@case("CSI-CTRL-037", "CSI 1.13 Volume", needs=[CREATE_DELETE_VOLUME])
def test_the_context_of_a_volume_never_changes(csi: CsiTarget) -> None:
    """It is written into a PersistentVolume once; what changes later no node ever hears of.

    A publish in between must not leave its marks there.
    """
    request = csi.requests.volume()
    volume = csi.steps.volume(request)
    if csi.has(NODE_ID):
        csi.steps.attach(volume)
    seen = {"a repeated CreateVolume": csi.steps.volume(request)}
    if csi.has(LIST_VOLUMES):
        entry = pagination.volumes(csi).find(volume.volume_id)
        seen |= {"ListVolumes": entry.volume} if entry else {}
    if csi.has(GET_VOLUME):
        about = pb.ControllerGetVolumeRequest(volume_id=volume.volume_id)
        seen["ControllerGetVolume"] = csi.controller.ControllerGetVolume(about).volume
    with together() as check:
        for what, other in seen.items():
            with check:
                expect(
                    other.volume_context == volume.volume_context,
                    f"volume_context in {what} is that of the first CreateVolume",
                    wanted=dict(volume.volume_context),
                    got=dict(other.volume_context),
                )
