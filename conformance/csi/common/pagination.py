"""Lists page by page: the same walk, and the same rules, for every list of the controller.

Others may create and delete on the target meanwhile, which lets entries appear twice or not at all
(CSI 1.13, ListVolumes). So rules about a whole list are judged when it stood still.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import pytest

from conformance.csi.target import CsiTarget
from conformance.engine.verdict import Broken, expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

_TRIES = 20  # how often a list is looked at until it stands still
_SURE = 4  # how often it must look wrong to be wrong
_IDLE = 20  # pages in a row without a new entry: the walk runs in circles
_PAGES = 200  # as many pages as a walk over a long list may have


@attrs.frozen
class Listing:
    """One list: its RPC, how a page is asked for (max_entries, starting_token), an entry's id."""

    rpc: str
    ask: Callable[[int, str], Any]
    key: Callable[[Any], str]

    def page(self, size: int = 0, token: str = "") -> Any:
        """One page; Broken when it has more entries than asked for."""
        reply = self.ask(size, token)
        expect(
            not size or len(reply.entries) <= size,
            f"{self.rpc} with max_entries = {size} answers with no more entries than that",
            wanted=f"at most {size}",
            got=len(reply.entries),
        )
        return reply

    def pages(self, *sizes: int, token: str = "") -> list[Any]:
        """All pages from the token on. `sizes` are the max_entries of one page after the other,
        over and over; none: no limit. Broken when the walk does not come to an end."""
        pages: list[Any] = []
        seen: set[str] = set()
        idle = 0
        for size in itertools.cycle(sizes or (0,)):
            pages.append(page := self.page(size, token))
            ids = set(self.ids(page))
            idle = 0 if ids - seen else idle + 1
            seen |= ids
            token = page.next_token
            if not token:
                break
            expect(
                idle < _IDLE,
                f"a walk through {self.rpc} along its tokens comes to an end",
                wanted="an empty next_token behind the last entry",
                got=f"{idle} pages in a row with nothing new, after {len(seen)} entries",
            )
        return pages

    def ids(self, *pages: Any) -> list[str]:
        """The ids on these pages, in their order; of the whole list where none are given."""
        return [self.key(entry) for page in pages or self.pages() for entry in page.entries]

    def find(self, id: str) -> Any | None:
        """The entry of that id in the whole list, or None."""
        entries = (entry for page in self.pages() for entry in page.entries)
        return next((entry for entry in entries if self.key(entry) == id), None)

    def settled(
        self, judge: Callable[[list[str]], object], known: list[str] | None = None
    ) -> list[str]:
        """Has the list judged as a whole: `judge` is given its sorted ids, asks for pages, and
        raises Broken or Refused where they are not as they should be. `known`: the ids as they
        were just now, to spare a look. Returns the ids that it was judged by.

        That counts only when the list was the same before and after, and several times: something
        may have come and gone in between. Skips the case where others never leave the list alone.
        """
        before, doubts = sorted(self.ids() if known is None else known), 0
        for _ in range(_TRIES):
            try:
                judge(before)
            except (Broken, Refused):
                after = sorted(self.ids())
                doubts += before == after
                if doubts == _SURE:
                    raise
                before = after
            else:
                return before
        pytest.skip(f"others change the list of {self.rpc} all the time")


def volumes(csi: CsiTarget) -> Listing:
    """ListVolumes."""
    return Listing(
        "ListVolumes",
        lambda size, token: csi.controller.ListVolumes(
            pb.ListVolumesRequest(max_entries=size, starting_token=token)
        ),
        lambda entry: entry.volume.volume_id,
    )


def snapshots(csi: CsiTarget, source_volume_id: str = "", snapshot_id: str = "") -> Listing:
    """ListSnapshots, of one volume or of one snapshot where that is given."""
    return Listing(
        "ListSnapshots",
        lambda size, token: csi.controller.ListSnapshots(
            pb.ListSnapshotsRequest(
                max_entries=size,
                starting_token=token,
                source_volume_id=source_volume_id,
                snapshot_id=snapshot_id,
                secrets=csi.settings.secrets_for("ListSnapshots"),
            )
        ),
        lambda entry: entry.snapshot.snapshot_id,
    )


def sick_volumes(csi: CsiTarget) -> Listing:
    """ControllerListVolumeHealth."""
    return Listing(
        "ControllerListVolumeHealth",
        lambda size, token: csi.controller.ControllerListVolumeHealth(
            pb.ControllerListVolumeHealthRequest(
                max_entries=size,
                starting_token=token,
                secrets=csi.settings.secrets_for("ControllerListVolumeHealth"),
            )
        ),
        lambda entry: entry.volume_id,
    )


def smallest_pages(known: Sequence[str]) -> int:
    """A page size of one, or as little as keeps the walk over a long list bearable."""
    return max(1, -(-len(known) // _PAGES))


def expect_whole(listing: Listing, *sizes: int, known: list[str] | None = None) -> list[str]:
    """A walk in pages of these sizes shows what the whole list shows, each entry once; `known`
    and what is returned as for `settled`."""
    return listing.settled(lambda ids: _compare(listing, sizes, ids), known)


def _compare(listing: Listing, sizes: Sequence[int], known: list[str]) -> None:
    walk = f"a walk through {listing.rpc} with max_entries {', '.join(map(str, sizes))}"
    pages = listing.pages(*sizes)
    seen = sorted(listing.ids(*pages))
    missed, added = set(known).difference(seen), set(seen).difference(known)
    with together() as check:
        with check:
            expect(
                not missed and not added,
                f"{walk} shows every entry",
                wanted=f"{len(known)} entries",
                got=f"{len(missed)} missing {sorted(missed)}, {len(added)} besides {sorted(added)}",
            )
        twice = sorted({id for id, other in itertools.pairwise(seen) if id == other})
        with check:
            expect(
                not twice, f"{walk} shows no entry twice", wanted="each once", got=f"twice: {twice}"
            )
        with check:
            should(
                len(pages) == 1 or pages[-1].entries,
                f"{walk} ends with its last entry: there is a next_token only where more follows",
                wanted="an empty next_token",
                got=f"a next_token that leads to an empty page, number {len(pages)}",
            )


def expect_no_negative(listing: Listing) -> None:
    """A negative max_entries is refused."""
    with together() as check:
        for size in (-1, -(2**31)):
            with check:
                expect_status(
                    partial(listing.ask, size, ""),
                    {Code.INVALID_ARGUMENT},
                    f"{listing.rpc} with max_entries = {size} is refused",
                )


def expect_bad_token(listing: Listing, token: str) -> None:
    """A token that the user calls invalid is refused."""
    expect_status(
        lambda: listing.ask(0, token),
        {Code.ABORTED},
        f"{listing.rpc} with the invalid starting_token {token!r} is refused, to be started again",
    )


def expect_token_borne(listing: Listing, token: str) -> None:
    """A token of unknown origin is refused or leads to a page; nothing else, and no crash."""
    with together() as check:
        for size in (0, 1):
            with check:
                reply = expect_status(
                    partial(listing.page, size, token),
                    {Code.OK, Code.ABORTED},
                    f"{listing.rpc} with the starting_token {token!r}, max_entries = {size}, is"
                    " refused or answers with a page",
                )
                expect(
                    reply is None or all(listing.ids(reply)),
                    f"the page behind the starting_token {token!r} holds real entries",
                    wanted="ids that are not empty",
                    got=reply,
                )


# Forged tokens: numbers about and beyond the ends of a list and of what numbers can be, text that
# is no number, the longest string allowed (CSI 1.13, Size Limits).
HOSTILE_TOKENS = (
    "0",
    "-1",
    "4294967295",
    "999999",
    "1e9",
    "../%s\n\u202e\U0001f4be'\"",
    "x" * 128,
)
