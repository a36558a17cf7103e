"""ControllerListVolumeHealth: every volume that is not well, page by page."""

from __future__ import annotations

from conformance.csi.common import health
from conformance.csi.common.deleted_rest import expect_end_moves
from conformance.csi.common.fault_injection import repair_volume, settle_s
from conformance.csi.common.pagination import (
    HOSTILE_TOKENS,
    Listing,
    expect_bad_token,
    expect_no_negative,
    expect_token_borne,
    expect_whole,
    sick_volumes,
    smallest_pages,
)
from conformance.csi.needs import (
    BREAKABLE,
    CONTROLLER_HEALTH,
    CREATE_DELETE_VOLUME,
    LIST_HEALTH,
    REVISION_1_13,
)
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 ControllerListVolumeHealth"
_NEEDS = (REVISION_1_13, LIST_HEALTH)
_SICK = (*_NEEDS, CREATE_DELETE_VOLUME, BREAKABLE)


@case("CSI-HLTH-003", "CSI 1.13 ControllerGetCapabilities", needs=_NEEDS)
def test_whoever_lists_health_can_be_asked_for_one_volume(csi: CsiTarget) -> None:
    """Entries may be missing or twice in a list that changes; a caller settles that by asking for
    the one volume, and looks for the capability first."""
    expect(
        csi.has(CONTROLLER_HEALTH),
        "LIST_VOLUME_HEALTH is advertised together with GET_VOLUME_HEALTH",
        wanted="GET_VOLUME_HEALTH",
        got="LIST_VOLUME_HEALTH alone",
    )


@case("CSI-HLTH-004", _SOURCE, needs=_SICK, alone=True)
def test_the_sick_are_listed_page_by_page(csi: CsiTarget) -> None:
    """The list is long on the one day it matters: when a whole rack is down. All that holds for
    the pages and tokens of ListVolumes holds here."""
    listing = sick_volumes(csi)
    with together() as check, health.several_sick(csi, 5) as ids:
        known = listing.ids()
        small, length = smallest_pages(known), len(known)
        for size in (small, 2 * small, 3 * small, length - 1, length, length + 1):
            known = expect_whole(listing, size, known=known)
        expect_whole(listing, small, 3 * small, 2 * small, known=known)
        with check:
            expect_no_negative(listing)
        with check:
            _expect_all_in_largest(listing, ids)
        with check:
            expect_bad_token(listing, csi.settings.invalid_token)
        for token in HOSTILE_TOKENS:
            with check:
                expect_token_borne(listing, token)


def _expect_all_in_largest(listing: Listing, ids: list[str]) -> None:
    pages = expect_status(
        lambda: listing.pages(2**31 - 1), {Code.OK}, f"{listing.rpc} with max_entries = 2^31-1"
    )
    missing = set(ids).difference(listing.ids(*(pages or [])))
    rule = f"{listing.rpc} with max_entries = 2^31-1 lists every broken volume"
    expect(not missing, rule, wanted=len(ids), got=f"{len(missing)} missing")


@case("CSI-HLTH-006", _SOURCE, needs=[*_NEEDS, CREATE_DELETE_VOLUME])
def test_the_healthy_are_left_out(csi: CsiTarget) -> None:
    """With every volume in it the list is as long as ListVolumes, and is fetched every minute."""
    volume_id, listing = csi.steps.volume().volume_id, sick_volumes(csi)
    entry = listing.find(volume_id)
    rule = "ControllerListVolumeHealth leaves out volumes in good order"
    expect(entry is None, rule, wanted=f"without {volume_id}", got=entry)


@case("CSI-HLTH-017", _SOURCE, needs=_SICK)
def test_the_list_tells_what_is_told_of_each_volume(csi: CsiTarget) -> None:
    """Some callers read the list, some ask for one volume: both have to see the same."""
    listing = sick_volumes(csi)
    with together() as check, health.several_sick(csi, 3) as ids:
        for id in ids:
            entry = listing.find(id)
            listed = health.ailments(entry or pb.VolumeHealth())
            ailments = health.ailments(health.at_controller(csi, id))
            rule = (
                "ControllerListVolumeHealth tells of a volume what ControllerGetVolumeHealth tells"
            )
            with check:
                expect(
                    listed == ailments,
                    rule,
                    wanted=health.named(ailments),
                    got=health.named(listed),
                )
            with check:
                expect(
                    listed,
                    "a broken volume is listed with its entries",
                    wanted="some",
                    got=entry,
                )


@case("CSI-HLTH-018", _SOURCE, needs=_SICK)
def test_a_walk_survives_that_volumes_heal_and_go(csi: CsiTarget) -> None:
    """Repairs are under way while somebody reads the list. It may miss some or start again, but
    must not end in an error that nobody knows what to do about."""
    listing = sick_volumes(csi)
    with health.several_sick(csi, 5) as ids:
        page = listing.page(2)
        unseen = [id for id in ids if id not in listing.ids(page)]
        healed, deleted = unseen[:1], unseen[1:2]
        for id in healed:
            repair_volume(csi, id, "Broken")
        for id in deleted:
            csi.controller.DeleteVolume(csi.requests.delete(id))
        if page.next_token:
            expect_status(
                lambda: listing.pages(2, token=page.next_token),
                {Code.OK, Code.ABORTED},
                "a walk through ControllerListVolumeHealth goes on or starts again where a volume"
                " has healed and another was deleted",
            )


@case("CSI-HLTH-019", _SOURCE, needs=_NEEDS)
def test_each_volume_that_is_listed_can_be_asked_for(csi: CsiTarget) -> None:
    """The list names who is sick; the next question is how that one is now. Volumes may go in
    between, and are then not listed any more."""
    listing = sick_volumes(csi)
    if not csi.has(CREATE_DELETE_VOLUME, BREAKABLE):
        _expect_each_told(csi, listing)
        return
    with health.several_sick(csi, 2):
        _expect_each_told(csi, listing)


def _expect_each_told(csi: CsiTarget, listing: Listing) -> None:
    with together() as check:
        for id in listing.ids():
            with check:
                reply = expect_status(
                    lambda id=id: health.at_controller(csi, id),  # type: ignore[misc]
                    {Code.OK, Code.NOT_FOUND},
                    f"ControllerGetVolumeHealth answers for volume {id}, which is listed",
                )
                if reply is None:
                    rule = "a volume that is listed is found, unless it was deleted meanwhile"
                    expect(id not in listing.ids(), rule, wanted=f"health of {id}", got="NOT_FOUND")


@case("CSI-HLTH-033", _SOURCE, needs=_SICK, alone=True)
def test_a_walk_ends_where_all_that_followed_has_healed(csi: CsiTarget) -> None:
    """An outage ends while somebody reads the list: the token leads to where nothing is left, which
    is good news and no INTERNAL."""
    listing = sick_volumes(csi)

    def heal(id: str) -> None:
        repair_volume(csi, id, "Broken")
        rule = "ControllerListVolumeHealth leaves out a volume that was repaired"
        eventually(lambda: id not in listing.ids(), settle_s(csi), rule)

    with health.several_sick(csi, 4) as ids:
        expect_end_moves([listing], ids, heal)
