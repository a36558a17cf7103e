"""ListVolumes: pages and tokens. Others may use the target, so each case looks at its own volumes,
or at a list that stood still."""

from __future__ import annotations

from functools import partial

from conformance.csi.common.deleted_rest import expect_end_moves
from conformance.csi.common.pagination import (
    HOSTILE_TOKENS,
    expect_bad_token,
    expect_no_negative,
    expect_token_borne,
    expect_whole,
    smallest_pages,
    snapshots,
    volumes,
)
from conformance.csi.needs import CREATE_DELETE_VOLUME, LIST_VOLUMES
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 ListVolumes"
_OWN = [LIST_VOLUMES, CREATE_DELETE_VOLUME]


@case("CSI-LV-001", _SOURCE, needs=[LIST_VOLUMES])
def test_listed_volumes_have_ids_of_their_own(csi: CsiTarget) -> None:
    """Reconcilers key what they see by id; an empty or doubled one mixes two volumes up."""
    assert csi.shared.volume().volume_id  # one, and another where the driver makes any
    _make(csi, 1)
    listing = volumes(csi)
    with together() as check:
        for page in listing.pages():
            ids = listing.ids(page)
            with check:
                expect(all(ids), "every listed volume has an id", wanted="no empty id", got=ids)
            twice = {id for id in ids if ids.count(id) > 1}
            with check:
                expect(not twice, "no answer lists a volume twice", wanted="unique ids", got=twice)


@case("CSI-LV-002", _SOURCE, needs=_OWN)
def test_a_volume_is_listed_from_its_creation_to_its_deletion(csi: CsiTarget) -> None:
    """Whoever lost the answer to CreateVolume finds the volume here, or pays for it for ever."""
    listing, volume = volumes(csi), csi.steps.volume()
    ids = listing.ids()
    with together() as check:
        with check:
            expect(
                volume.volume_id in ids,
                "ListVolumes lists a volume that was created",
                wanted=volume.volume_id,
                got=f"{len(ids)} others",
            )
        csi.controller.DeleteVolume(csi.requests.delete(volume.volume_id))
        with check:
            expect(
                volume.volume_id not in listing.ids(),
                "ListVolumes does not list a volume that was deleted",
                wanted=f"without {volume.volume_id}",
                got="it is listed",
            )


@case("CSI-LV-003", _SOURCE, needs=_OWN, alone=True)
def test_a_walk_in_pages_of_one_shows_every_volume_once(csi: CsiTarget) -> None:
    """The smallest pages show every mistake at the edge of one: an entry lost, an entry twice, a
    token too many. A list of more than 200 volumes is walked in larger pages."""
    _make(csi, 4)
    listing, known = volumes(csi), volumes(csi).ids()
    expect_whole(listing, smallest_pages(known), known=known)


@case("CSI-LV-004", _SOURCE, needs=_OWN, alone=True)
def test_there_is_a_next_token_while_more_follows(csi: CsiTarget) -> None:
    """Whatever the size of a page is to the length of the list. A missing token hides volumes from
    the attacher, which then detaches them by force."""
    _make(csi, 4)
    listing, known = volumes(csi), volumes(csi).ids()
    small, length = smallest_pages(known), len(known)
    sizes = (small, 2 * small, length - 1, length, length + 1)
    for size in dict.fromkeys(sizes):
        known = expect_whole(listing, size, known=known)


@case("CSI-LV-005", _SOURCE, needs=_OWN, alone=True)
def test_max_entries_may_change_from_page_to_page(csi: CsiTarget) -> None:
    """A token says where to go on; how many entries fit is a matter of each call."""
    _make(csi, 5)
    listing, known = volumes(csi), volumes(csi).ids()
    small = smallest_pages(known)
    expect_whole(listing, small, 3 * small, 2 * small, known=known)


@case("CSI-LV-006", _SOURCE, needs=[LIST_VOLUMES])
def test_a_negative_max_entries_is_refused(csi: CsiTarget) -> None:
    """Used as the size of a buffer it ends the process, and with it every mount under way."""
    expect_no_negative(volumes(csi))


@case("CSI-LV-007", _SOURCE, needs=_OWN)
def test_the_largest_max_entries_is_served(csi: CsiTarget) -> None:
    """A caller that wants all in one page says so with the largest number there is."""
    listing, volume = volumes(csi), csi.shared.volume()
    page = expect_status(
        lambda: listing.page(2**31 - 1), {Code.OK}, "ListVolumes with max_entries = 2^31-1 answers"
    )
    expect(page and page.entries, "the page holds entries", wanted="some", got=page)
    expect(
        volume.volume_id in listing.ids(*listing.pages(2**31 - 1)),
        "ListVolumes with max_entries = 2^31-1 lists a volume that was created",
        wanted=volume.volume_id,
        got="it is not listed",
    )


@case("CSI-LV-008", _SOURCE, needs=[LIST_VOLUMES])
def test_a_token_the_list_never_gave_is_refused(csi: CsiTarget) -> None:
    """Tokens outlive the list they were given for: a restarted driver, another version, a mix-up
    with snapshots. What looks like a token of this list may get a page; nothing may crash."""
    listing = volumes(csi)
    with together() as check:
        with check:
            expect_bad_token(listing, csi.settings.invalid_token)
        for token in HOSTILE_TOKENS:
            with check:
                expect_token_borne(listing, token)
        for token in _snapshot_token(csi):
            with check:
                expect_token_borne(listing, token)


@case("CSI-LV-009", _SOURCE, needs=_OWN, alone=True)
def test_a_token_can_be_used_again(csi: CsiTarget) -> None:
    """A caller whose page got lost asks for it once more: the same page, or to start again."""
    _make(csi, 3)
    listing = volumes(csi)

    def twice(_: list[str]) -> None:
        token = listing.page(2).next_token
        first, again = (
            expect_status(
                partial(listing.page, 2, token),
                {Code.OK, Code.ABORTED},
                "ListVolumes with a starting_token for the second time answers or is refused",
            )
            for _ in range(2)
        )
        shown = [None if reply is None else listing.ids(reply) for reply in (first, again)]
        expect(
            shown[1] in (None, shown[0]), "a token leads to one page", wanted=shown[0], got=shown[1]
        )

    listing.settled(twice)


@case("CSI-LV-010", _SOURCE, needs=_OWN)
def test_a_walk_survives_that_what_it_showed_is_deleted(csi: CsiTarget) -> None:
    """A cleaner deletes as it walks. The walk goes on, though it may miss some (CSI allows that),
    or has to start again; what was not deleted is still there afterwards."""
    own, listing = {volume.volume_id for volume in _make(csi, 4)}, volumes(csi)
    seen, token = _walk_to(csi, own)
    for id in seen:
        csi.controller.DeleteVolume(csi.requests.delete(id))
    expect_status(
        lambda: listing.pages(2, token=token),
        {Code.OK, Code.ABORTED},
        "a walk through ListVolumes whose first volumes were deleted goes on or starts again",
    )
    left = own.intersection(listing.ids())
    expect(left == own - seen, "only what was deleted is gone", wanted=own - seen, got=left)


@case("CSI-LV-011", _SOURCE, needs=_OWN)
def test_a_walk_survives_that_a_volume_is_created(csi: CsiTarget) -> None:
    """In a busy cluster something is always being created; a walk that each of them stops would
    never end."""
    own, listing = {volume.volume_id for volume in _make(csi, 3)}, volumes(csi)
    _, token = _walk_to(csi, own)
    csi.steps.volume()
    expect_status(
        lambda: listing.pages(2, token=token),
        {Code.OK},
        "a walk through ListVolumes goes on though a volume was created meanwhile",
    )


@case("CSI-LV-018", _SOURCE, needs=_OWN, alone=True)
def test_a_walk_ends_where_all_that_followed_was_deleted(csi: CsiTarget) -> None:
    """A token that is an index lies beyond the list by then. An answer of INTERNAL stops whoever
    walks, though nothing is wrong: there is no more to see."""
    own = [volume.volume_id for volume in _make(csi, 4)]
    expect_end_moves(
        [volumes(csi)], own, lambda id: csi.controller.DeleteVolume(csi.requests.delete(id))
    )


def _make(csi: CsiTarget, count: int) -> list[pb.Volume]:
    """That many volumes, small ones; where the driver makes none, the user's own."""
    if not csi.has(CREATE_DELETE_VOLUME):
        return [csi.steps.volume()]
    return [csi.steps.volume(csi.requests.volume()) for _ in range(count)]


def _walk_to(csi: CsiTarget, own: set[str]) -> tuple[set[str], str]:
    """Walks until some of these volumes were seen: which, and the token to go on with. The token
    is empty where the driver gave all of them at once."""
    listing, token = volumes(csi), ""
    while True:
        page = listing.page(2, token)
        seen, token = own.intersection(listing.ids(page)), page.next_token
        if seen or not token:
            return seen, token


def _snapshot_token(csi: CsiTarget) -> list[str]:
    """A token of ListSnapshots, where the driver gives one."""
    needed = {f"controller:{name}" for name in ("CREATE_DELETE_SNAPSHOT", "LIST_SNAPSHOTS")}
    if not needed <= csi.capabilities.names:
        return []
    volume = csi.steps.volume()
    for _ in range(2):
        csi.controller.CreateSnapshot(csi.requests.snapshot(volume.volume_id))
    token = snapshots(csi).page(1).next_token
    return [token] if token else []
