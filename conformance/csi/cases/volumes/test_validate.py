"""ValidateVolumeCapabilities: whether a volume is what its PersistentVolume says it is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from conformance.csi.common.uses import all_modes, described, other_type
from conformance.csi.needs import (
    CONTROLLER,
    CREATE_DELETE_VOLUME,
    MODIFY_VOLUME,
    PUBLISH_UNPUBLISH_VOLUME,
    SINGLE_NODE_MULTI_WRITER,
    VOLUMES,
)
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

Answer = pb.ValidateVolumeCapabilitiesResponse

_SOURCE = "CSI 1.13 ValidateVolumeCapabilities"
_FOREIGN = {"refimpl.example/unknown": "x"}


@case("CSI-VAL-001", _SOURCE, needs=[CONTROLLER, VOLUMES])
def test_a_validation_that_lacks_a_required_field_is_refused(csi: CsiTarget) -> None:
    """Whoever asks about nothing must not be told that it is fine."""
    volume = csi.shared.volume()
    without_id = csi.requests.validate(pb.Volume())
    without_capabilities = csi.requests.validate(volume, [])
    with together() as check:
        for field, request in (
            ("volume_id", without_id),
            ("volume_capabilities", without_capabilities),
        ):
            with check:
                expect_status(
                    partial(csi.controller.ValidateVolumeCapabilities, request),
                    {Code.INVALID_ARGUMENT},
                    f"ValidateVolumeCapabilities without {field} is refused",
                )


@case("CSI-VAL-002", _SOURCE, needs=[CONTROLLER])
def test_an_unknown_volume_is_not_validated(csi: CsiTarget) -> None:
    """It is the call that finds a mistyped volume handle before a pod waits for it."""
    request = csi.requests.validate(pb.Volume(volume_id=csi.requests.unknown_volume_id()))
    expect_status(
        partial(csi.controller.ValidateVolumeCapabilities, request),
        {Code.NOT_FOUND},
        "ValidateVolumeCapabilities of a volume that does not exist is refused",
    )


@case("CSI-VAL-003", _SOURCE, needs=[CONTROLLER, VOLUMES])
def test_what_a_volume_supports_is_confirmed_in_full(csi: CsiTarget) -> None:
    """The caller compares the list with its own: what is missing in it counts as unsupported."""
    both = csi.preconditions.makes(Mode.SINGLE_NODE_WRITER, Mode.MULTI_NODE_MULTI_WRITER)
    wanted = [csi.requests.capability()] + [
        csi.requests.capability(Mode.MULTI_NODE_MULTI_WRITER)
    ] * both
    volume = csi.steps.volume(csi.requests.volume(capabilities=wanted) if both else None)
    answer = _ask(csi, csi.requests.validate(volume, wanted))
    expect(
        _confirmed(answer) and all(one in answer.confirmed.volume_capabilities for one in wanted),
        "capabilities that a volume was made for are all confirmed",
        wanted=", ".join(described(one) for one in wanted),
        got=answer,
    )


@case("CSI-VAL-004", _SOURCE, needs=[CONTROLLER, VOLUMES])
def test_what_is_confirmed_can_be_published_and_nothing_else(csi: CsiTarget) -> None:
    """Every access mode and access type gets a clear answer, and ControllerPublishVolume, where
    there is one, stands by it: two opinions in one driver mean pods that never start."""
    volume = csi.shared.volume()
    with together() as check:
        for mode in all_modes(csi):
            for use in (csi.requests.capability(mode), other_type(csi, mode)):
                answer = _ask(csi, csi.requests.validate(volume, [use]))
                listed = list(answer.confirmed.volume_capabilities)
                with check:
                    expect(
                        not answer.HasField("confirmed") or use in listed,
                        f"{described(use)}: `confirmed` is unset, or holds what was asked about",
                        wanted="the capability",
                        got=answer,
                    )
                if csi.has(PUBLISH_UNPUBLISH_VOLUME) and csi.capabilities.node_id:
                    with check:
                        _expect_publish(csi, volume, use, as_confirmed=bool(listed))


@case("CSI-VAL-005", _SOURCE, needs=[CONTROLLER, VOLUMES])
def test_one_unsupported_capability_leaves_all_unconfirmed(csi: CsiTarget) -> None:
    """Confirmed as a whole or not at all; no is an answer, not an error, and should say why."""
    volume, usual = csi.shared.volume(), csi.requests.capability()
    unsupported = _unsupported(csi, volume)
    with together() as check:
        for wanted in ([usual, unsupported], [unsupported, usual]):
            answer = _ask(csi, csi.requests.validate(volume, wanted))
            with check:
                expect(
                    not answer.HasField("confirmed"),
                    f"{described(usual)} is not confirmed together with {described(unsupported)},"
                    " which alone is not supported",
                    wanted="no `confirmed`",
                    got=answer,
                )
            with check:
                should(
                    answer.message,
                    "an answer that confirms nothing says why",
                    wanted="a message",
                    got=answer,
                )


@case("CSI-VAL-006", _SOURCE, needs=[CONTROLLER, VOLUMES])
def test_a_volume_context_is_confirmed_only_if_it_is_the_volumes_own(csi: CsiTarget) -> None:
    """An echoed context counts as checked. A driver that does not check leaves it out."""
    volume = csi.shared.volume()
    answer = _ask(csi, csi.requests.validate(volume))
    expect(_confirmed(answer), "a volume is confirmed as it was made", wanted="yes", got=answer)
    with together() as check:
        own, confirmed = dict(volume.volume_context), dict(answer.confirmed.volume_context)
        with check:
            expect(
                confirmed in ({}, own),
                "its own volume_context is echoed, or none",
                wanted=own,
                got=confirmed,
            )
        for wrong in (_FOREIGN, {**own, **dict.fromkeys(own, "of another volume"), **_FOREIGN}):
            with check:
                request = csi.requests.validate(volume)
                request.volume_context.clear()
                request.volume_context.update(wrong)
                _expect_unconfirmed(csi, request, "volume_context", wrong)


@case("CSI-VAL-007", _SOURCE, needs=[CONTROLLER, VOLUMES])
def test_unknown_parameters_are_not_confirmed(csi: CsiTarget) -> None:
    """Parameters that come back count as those the volume was made with."""
    volume = csi.shared.volume()
    request = csi.requests.validate(volume)
    request.parameters.update(_FOREIGN)
    with together() as check:
        with check:
            _expect_unconfirmed(csi, request, "parameters", _FOREIGN)
        if csi.has(MODIFY_VOLUME):
            request = csi.requests.validate(volume)
            request.mutable_parameters.update(_FOREIGN)
            with check:
                _expect_unconfirmed(csi, request, "mutable_parameters", _FOREIGN)


@case("CSI-VAL-008", _SOURCE, needs=[CONTROLLER, VOLUMES])
def test_a_repeated_validation_answers_the_same(csi: CsiTarget) -> None:
    """To ask changes nothing. Three times are enough to see it."""
    request = csi.requests.validate(csi.shared.volume())
    first = _ask(csi, request)
    for _ in range(2):
        again = _ask(csi, request)
        expect(
            again == first,
            "the same ValidateVolumeCapabilities answers the same",
            wanted=first,
            got=again,
        )


@case("CSI-VAL-009", _SOURCE, needs=[CONTROLLER, VOLUMES])
def test_an_unfinished_capability_is_refused(csi: CsiTarget) -> None:
    """Access mode and access type are required fields; without one there is no question."""
    volume = csi.shared.volume()
    without_mode = csi.requests.capability(Mode.UNKNOWN)
    without_type = pb.VolumeCapability(access_mode=Mode(mode=csi.requests.usual_mode))
    with together() as check:
        for lacking in (without_mode, without_type):
            with check:
                request = csi.requests.validate(volume, [lacking])
                expect_status(
                    partial(csi.controller.ValidateVolumeCapabilities, request),
                    {Code.INVALID_ARGUMENT},
                    f"ValidateVolumeCapabilities of ({described(lacking)}) is refused",
                )


@case(
    "CSI-VAL-010",
    "CSI 1.13 ControllerServiceCapability, SINGLE_NODE_MULTI_WRITER",
    needs=[SINGLE_NODE_MULTI_WRITER, CREATE_DELETE_VOLUME],
)
def test_a_driver_of_finer_modes_still_takes_the_plain_one(csi: CsiTarget) -> None:
    """Every PersistentVolume written before these modes existed says SINGLE_NODE_WRITER."""
    plain = csi.requests.capability(Mode.SINGLE_NODE_WRITER)
    volume = csi.steps.volume(csi.requests.volume(capabilities=[plain]))
    answer = _ask(csi, csi.requests.validate(volume, [plain]))
    expect(_confirmed(answer), "SINGLE_NODE_WRITER is confirmed", wanted="`confirmed`", got=answer)


def _ask(csi: CsiTarget, request: pb.ValidateVolumeCapabilitiesRequest) -> Answer:
    uses = ", ".join(f"({described(one)})" for one in request.volume_capabilities)
    answer = expect_status(
        partial(csi.controller.ValidateVolumeCapabilities, request),
        {Code.OK},
        f"ValidateVolumeCapabilities of {uses} answers",
    )
    assert answer is not None
    return answer


def _confirmed(answer: Answer) -> bool:
    return bool(answer.confirmed.volume_capabilities)


def _expect_publish(
    csi: CsiTarget, volume: pb.Volume, use: pb.VolumeCapability, *, as_confirmed: bool
) -> None:
    verdict = "confirmed" if as_confirmed else "did not confirm"
    refused = {Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION}
    expect_status(
        partial(csi.steps.attach, volume, capability=use),
        {Code.OK} if as_confirmed else refused,
        f"ControllerPublishVolume as {described(use)}, which ValidateVolumeCapabilities {verdict}",
    )
    if as_confirmed:
        csi.controller.ControllerUnpublishVolume(csi.requests.unpublish(volume.volume_id))


def _unsupported(csi: CsiTarget, volume: pb.Volume) -> pb.VolumeCapability:
    """A use that the driver itself does not confirm; Broken when it confirms whatever it is asked.
    No volume is good for all of these."""
    impossible = [
        other_type(csi),
        csi.requests.capability(Mode.MULTI_NODE_MULTI_WRITER),
        csi.requests.capability(block=False, fs_type="refimpl-nofs"),
        other_type(csi, Mode.MULTI_NODE_MULTI_WRITER),
    ]
    for use in impossible:
        if not _confirmed(_ask(csi, csi.requests.validate(volume, [use]))):
            return use
    raise Broken(
        "ValidateVolumeCapabilities confirms what a volume supports, and nothing else",
        "one of these is not confirmed",
        "; ".join(f"{described(use)}: confirmed" for use in impossible),
    )


def _expect_unconfirmed(
    csi: CsiTarget,
    request: pb.ValidateVolumeCapabilitiesRequest,
    field: str,
    wrong: Mapping[str, str],
) -> None:
    """Refused, not confirmed, or confirmed without this field: then it was not looked at."""
    answer = expect_status(
        partial(csi.controller.ValidateVolumeCapabilities, request),
        {Code.OK, Code.INVALID_ARGUMENT},
        f"ValidateVolumeCapabilities with wrong {field} answers or is refused",
    )
    confirmed = dict(getattr(answer.confirmed, field)) if answer is not None else {}
    expect(
        not confirmed.items() & wrong.items(),
        f"wrong {field}: entries that are not the volume's are not confirmed",
        wanted=f"{field} without {dict(wrong)}",
        got=confirmed,
    )
