"""CreateVolume: what makes a volume, and that asking again makes no second one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import pytest

from conformance.csi.common.places import nowhere
from conformance.csi.common.refusals import expect_refusal, makes_no_volume
from conformance.csi.common.repeats import expect_same
from conformance.csi.common.uses import described
from conformance.csi.needs import CREATE_DELETE_VOLUME, CREATE_SECRETS, GET_CAPACITY, LIST_VOLUMES
from conformance.csi.requests import Mode, from_snapshot, from_volume
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import AnyOf
from conformance.engine.verdict import eventually, expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

UNDEFINED = Mode.Mode.ValueType(99)
MODES = [mode for mode in Mode.Mode.values() if mode != Mode.UNKNOWN]


@case("CSI-CTRL-001", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_volume_without_a_name_is_refused(csi: CsiTarget) -> None:
    """The name is what makes a retry safe; a volume without one could never be asked for again."""
    request = csi.requests.volume(name="")
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.INVALID_ARGUMENT},
        "CreateVolume without a name is refused",
    )


@case("CSI-CTRL-002", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_volume_without_capabilities_is_refused(csi: CsiTarget) -> None:
    """Nobody could say how such a volume may be used, so a claim would bind to what may not fit."""
    request = csi.requests.volume(capabilities=[])
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.INVALID_ARGUMENT},
        "CreateVolume without volume_capabilities is refused",
    )


@case("CSI-CTRL-003", "CSI 1.13 VolumeCapability", needs=[CREATE_DELETE_VOLUME])
def test_a_capability_without_an_access_mode_is_refused(csi: CsiTarget) -> None:
    """A driver that guesses one node gives a shared claim a volume that only one pod can mount."""
    capability = csi.requests.capability()
    capability.ClearField("access_mode")
    request = csi.requests.volume(capabilities=[capability])
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.INVALID_ARGUMENT},
        "a capability without access_mode is refused",
    )


@case("CSI-CTRL-004", "CSI 1.13 VolumeCapability", needs=[CREATE_DELETE_VOLUME])
def test_an_access_mode_that_does_not_exist_is_refused(csi: CsiTarget) -> None:
    """A mode of a later revision must not be taken for one that the driver happens to know."""
    with together() as check:
        for mode in (Mode.UNKNOWN, UNDEFINED):
            with check:
                request = csi.requests.volume(capabilities=[csi.requests.capability(mode)])
                expect_status(
                    partial(csi.controller.CreateVolume, request),
                    {Code.INVALID_ARGUMENT},
                    f"a capability with access mode number {mode} is refused",
                )


@case("CSI-CTRL-005", "CSI 1.13 VolumeCapability", needs=[CREATE_DELETE_VOLUME])
def test_a_capability_without_an_access_type_is_refused(csi: CsiTarget) -> None:
    """Block device or file system decides what a pod finds at its path; it is not to be guessed."""
    capability = pb.VolumeCapability(access_mode=Mode(mode=csi.requests.usual_mode))
    request = csi.requests.volume(capabilities=[capability])
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.INVALID_ARGUMENT},
        "a capability with neither block nor mount is refused",
    )


@case("CSI-CTRL-006", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_one_unsupported_capability_refuses_the_whole_list(csi: CsiTarget) -> None:
    """A volume that serves only some of the modes asked for binds a claim whose pods then hang."""
    unsupported = [mode for mode in MODES if not csi.preconditions.makes(mode)]
    with together() as check:
        for mode in (UNDEFINED, *unsupported):
            with check:
                request = csi.requests.volume(
                    capabilities=[csi.requests.capability(), csi.requests.capability(mode)]
                )
                with makes_no_volume(csi, "a refused list of capabilities"):
                    expect_refusal(
                        partial(csi.controller.CreateVolume, request),
                        f"access mode number {mode}, which no volume can have, refuses the whole"
                        " list",
                    )


@case("CSI-CTRL-007", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_volume_made_for_several_modes_serves_each(csi: CsiTarget) -> None:
    """A claim may name several access modes, and a pod uses whichever it likes."""
    modes = [mode for mode in MODES if csi.preconditions.makes(mode)]
    if len(modes) < 2:
        pytest.skip("the driver makes volumes for one access mode only")
    capabilities = [csi.requests.capability(mode) for mode in modes]
    volume = csi.steps.volume(csi.requests.volume(capabilities=capabilities))
    _expect_confirmed(csi, volume, capabilities)


@case("CSI-CTRL-008", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_mount_and_block_in_one_list_are_both_served_or_refused(csi: CsiTarget) -> None:
    """A driver that quietly takes the first type hands a block device to a pod that wants files."""
    capabilities = [csi.requests.capability(block=False), csi.requests.capability(block=True)]
    request = csi.requests.volume(capabilities=capabilities)
    reply = expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OK, Code.INVALID_ARGUMENT},
        "mount and block in one list make a volume for both, or none",
    )
    if reply is not None:
        _expect_confirmed(csi, reply.volume, capabilities)


def _expect_confirmed(
    csi: CsiTarget, volume: pb.Volume, capabilities: list[pb.VolumeCapability]
) -> None:
    with together() as check:
        for capability in capabilities:
            with check:
                request = csi.requests.validate(volume, [capability])
                answer = csi.controller.ValidateVolumeCapabilities(request)
                expect(
                    answer.HasField("confirmed"),
                    "a volume can be used in every way that it was made for",
                    wanted=f"ValidateVolumeCapabilities confirms {described(capability)}",
                    got=answer,
                )


@case("CSI-CTRL-019", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_repeated_create_returns_the_same_volume(csi: CsiTarget) -> None:
    """An orchestrator that lost the first answer asks again; a second volume would leak."""
    request, volume = csi.shared.request(), csi.shared.volume()
    expect_same(csi, request, volume, "the same request makes the same volume")


@case("CSI-CTRL-034", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_parameters_as_large_as_allowed_are_taken_or_refused(csi: CsiTarget) -> None:
    """A storage class is free text; a driver may turn it down, but not stumble over it."""
    room = 4096 - sum(len(key) + len(value) for key, value in csi.settings.parameters.items())
    filling = {f"refimpl-{number:02}": "x" * 117 for number in range(room // 128)}
    with together() as check:
        for what, more in (("unknown", {"refimpl-unknown": "1"}), ("4 KiB of", filling)):
            with check:
                request = csi.requests.volume(parameters=csi.settings.parameters | more)
                expect_status(
                    partial(csi.controller.CreateVolume, request),
                    {Code.OK, Code.INVALID_ARGUMENT},
                    f"{what} parameters make a volume or are refused",
                )


@case("CSI-CTRL-035", "robustness: no parameters", needs=[CREATE_DELETE_VOLUME])
def test_parameters_can_be_left_out(csi: CsiTarget) -> None:
    """A storage class without parameters is the first one everybody tries."""
    request = csi.requests.volume(parameters={})
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OK, Code.INVALID_ARGUMENT},
        "CreateVolume without parameters makes a volume or is refused",
    )


@case("CSI-CTRL-036", "CSI 1.13 Volume", needs=[CREATE_DELETE_VOLUME])
def test_every_volume_has_an_id_of_its_own(csi: CsiTarget) -> None:
    """Two claims with one id share one disk, and the first deleted takes the other's data along.

    Ten volumes stand for the hundred of the catalogue.
    """
    ids = [csi.steps.volume(csi.requests.volume()).volume_id for _ in range(10)]
    long = [id for id in ids if len(id.encode()) > 128]
    with together() as check:
        with check:
            expect(not long, "a volume_id is not longer than 128 bytes", wanted="<= 128", got=long)
        with check:
            expect(
                len(set(ids)) == len(ids),
                "ten names make ten different ids",
                wanted=f"{len(ids)} ids",
                got=sorted(ids),
            )


@case(
    "CSI-CTRL-067",
    "CSI 1.13 Secrets Requirements",
    needs=[CREATE_DELETE_VOLUME, CREATE_SECRETS],
)
def test_secrets_are_checked(csi: CsiTarget) -> None:
    """Whoever may write a storage class could otherwise make volumes with another's rights."""
    right = dict(csi.settings.secrets_for("CreateVolume"))
    wrong = {key: csi.settings.wrong_secrets.get(key, f"not-{right[key]}") for key in right}
    with together() as check:
        for what, secrets, code in (
            ("without its secrets", {}, Code.INVALID_ARGUMENT),
            ("with wrong secrets", wrong, Code.UNAUTHENTICATED),
            ("with a malformed key", right | {"not a key": "1"}, Code.INVALID_ARGUMENT),
        ):
            with check:
                request = csi.requests.volume()
                request.ClearField("secrets")
                request.secrets.update(secrets)
                expect_status(
                    partial(csi.controller.CreateVolume, request),
                    {code},
                    f"CreateVolume {what} is refused",
                )


@case(
    "CSI-CTRL-068",
    "CSI 1.13 CreateVolume",
    needs=[CREATE_DELETE_VOLUME, AnyOf((LIST_VOLUMES, GET_CAPACITY))],
    alone=True,
)
def test_a_refused_creation_takes_no_space(csi: CsiTarget) -> None:
    """A claim that cannot be served is tried again for days; each try must not leave a volume."""
    sized = GET_CAPACITY.unmet(csi) is None
    before = _available(csi) if sized else 0
    with makes_no_volume(csi, "a refused CreateVolume"):
        for request in _impossible(csi):
            with contextlib.suppress(Refused):
                volume = csi.controller.CreateVolume(request).volume
                csi.controller.DeleteVolume(csi.requests.delete(volume.volume_id))
    if sized:
        # Others may have volumes for a while; a leak stays.
        eventually(
            lambda: _available(csi) >= before, 5.0, "available_capacity is again what it was"
        )


def _available(csi: CsiTarget) -> int:
    return csi.controller.GetCapacity(csi.requests.capacity()).available_capacity


def _impossible(csi: CsiTarget) -> Iterator[pb.CreateVolumeRequest]:
    """Requests that most drivers refuse, at different stages of their work."""
    yield csi.requests.volume(
        capabilities=[csi.requests.capability(), csi.requests.capability(UNDEFINED)]
    )
    yield csi.requests.volume(limit=1)
    yield csi.requests.volume(source=from_snapshot(csi.requests.unknown_snapshot_id()))
    yield csi.requests.volume(source=from_volume(csi.requests.unknown_volume_id()))
    request = csi.requests.volume()
    request.mutable_parameters["refimpl-unknown"] = "1"
    yield request
    if place := csi.capabilities.topology:
        request = csi.requests.volume()
        request.ClearField("accessibility_requirements")
        request.accessibility_requirements.requisite.add(segments=nowhere(place))
        yield request
