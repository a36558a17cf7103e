"""A walk through a list whose rest goes away: its token leads to where nothing is left."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence

import pytest

from conformance.csi.common.pagination import Listing, smallest_pages
from conformance.engine.verdict import expect_status, should
from refimpl.wire.status import Code


def expect_end_moves(
    listings: Sequence[Listing], own: Collection[str], remove: Callable[[str], object]
) -> None:
    """All that follows a token is removed, and then all of `own`: the token leads to the end of the
    list or is refused, to be started again.

    listings: the same entries, seen in one way after another; the first is used in which only the
    case's own entries follow some token. Skips where there is none.
    """
    for listing in listings:
        token, rest = _own_rest(listing, set(own))
        if token:
            break
    else:
        pytest.skip("no token, or entries of others come last in the list")
    for what, ids in (("all that follows", rest), ("and all before it", set(own) - rest)):
        for id in sorted(ids):
            remove(id)
        _expect_end(listing, token, set(own), what)


def _own_rest(listing: Listing, own: set[str]) -> tuple[str, set[str]]:
    """The earliest token that only own entries follow, and these; ("", ...) for none."""
    pages = listing.pages(smallest_pages(listing.ids()))
    token, rest = "", set[str]()
    for before, page in reversed([*itertools.pairwise(pages)]):
        ids = set(listing.ids(page))
        if not ids <= own:
            break
        rest |= ids
        token = before.next_token if rest else ""
    return token, rest


def _expect_end(listing: Listing, token: str, gone: set[str], what: str) -> None:
    about = f"{listing.rpc} with a token of which {what} was removed meanwhile"
    pages = expect_status(
        lambda: listing.pages(token=token),
        {Code.OK, Code.ABORTED},
        f"{about} ends the list or is refused, to be started again",
    )
    shown = gone.intersection(listing.ids(*pages)) if pages else set()
    should(not shown, f"{about} shows nothing that is gone", wanted="none of it", got=shown)
