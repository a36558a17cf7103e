"""Lists page by page, shown on lists of letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from conformance.csi.common import pagination
from conformance.csi.common.pagination import Listing
from conformance.engine.verdict import Broken, Doubtful
from refimpl.wire.status import Code, Refused


@attrs.frozen
class Page:
    """An answer of a list."""

    entries: list[str]
    next_token: str = ""


def letters(text: str, ask: Callable[[int, str], Page] | None = None) -> Listing:
    """A list of these letters whose tokens are places."""

    def page(size: int, token: str) -> Page:
        if size < 0:
            raise Refused(Code.INVALID_ARGUMENT, "negative")
        if token and not token.isdigit():
            raise Refused(Code.ABORTED, "what token")
        begin = int(token or 0)
        end = begin + size if size else len(text)
        return Page(list(text[begin:end]), str(end) if end < len(text) else "")

    return Listing("ListLetters", ask or page, lambda entry: entry)


@pytest.mark.parametrize("sizes", [(), (1,), (2,), (3, 1), (10,)])
def test_a_good_list_is_whole_in_pages_of_any_size(sizes: tuple[int, ...]) -> None:
    """Each entry once, the last page with the last entry."""
    listing = letters("abcdef")
    assert listing.ids(*listing.pages(*sizes)) == list("abcdef")
    pagination.expect_whole(listing, *sizes)


def test_an_entry_is_found_on_whatever_page_it_is() -> None:
    """None where it is not."""
    assert letters("abc").find("c") == "c"
    assert letters("abc").find("x") is None
    assert letters("abcdef").pages(2, token="4")[0].entries == ["e", "f"]


def test_more_than_was_asked_for_is_broken() -> None:
    """A caller may have room for no more."""
    listing = letters("", lambda *_: Page(["a", "b"]))
    with pytest.raises(Broken, match="no more entries than that"):
        listing.page(1)


def test_a_walk_in_circles_comes_to_an_end() -> None:
    """The suite must not hang on a driver that does."""
    listing = letters("", lambda *_: Page(["a"], "0"))
    with pytest.raises(Broken, match="comes to an end"):
        listing.pages(1)


def _losing(size: int, _: str) -> Page:
    return Page(["a", "b"]) if not size else Page(["a"])


def _twice(size: int, token: str) -> Page:
    if not size:
        return Page(["a", "b"])
    return Page(["a", "b"], "1") if not token else Page(["b"])


def _trailing(size: int, token: str) -> Page:
    if not size:
        return Page(["a"])
    return Page(["a"], "1") if not token else Page([])


@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        (_losing, Broken, "shows every entry"),
        (_twice, Broken, "shows no entry twice"),
        (_trailing, Doubtful, "ends with its last entry"),
    ],
)
def test_each_way_to_be_wrong_is_told(ask: Any, kind: type[Broken], words: str) -> None:
    """An empty last page is only untidy."""
    with pytest.raises(Broken, match=words) as raised:
        pagination.expect_whole(letters("", ask), 2)
    assert type(raised.value) is kind


def test_a_list_that_others_change_is_not_blamed() -> None:
    """It is looked at until it stands still, and skipped where it never does."""
    count = iter(range(1000))
    restless = letters("", lambda *_: Page([f"e{next(count)}"]))
    with pytest.raises(pytest.skip.Exception, match="ListLetters"):
        pagination.expect_whole(restless, 1)


def test_a_list_that_has_come_to_rest_is_judged() -> None:
    """What was wrong only while it changed is forgiven."""
    seen: list[list[str]] = []

    def judge(known: list[str]) -> None:
        seen.append(known)
        if len(seen) < 3:
            raise Broken("rule", "a", "b")

    letters("ab").settled(judge)
    assert len(seen) == 3


def test_negative_sizes_and_bad_tokens_are_refused() -> None:
    """With the codes of the specification."""
    listing = letters("abc")
    pagination.expect_no_negative(listing)
    pagination.expect_bad_token(listing, "nonsense")
    careless = letters("", lambda *_: Page(["a"]))
    with pytest.raises(Broken, match="max_entries = -1 is refused"):
        pagination.expect_no_negative(careless)
    with pytest.raises(Broken, match="'nonsense' is refused"):
        pagination.expect_bad_token(careless, "nonsense")


@pytest.mark.parametrize("token", pagination.HOSTILE_TOKENS)
def test_a_forged_token_is_borne(token: str) -> None:
    """Refused or answered; an entry without an id is no answer."""
    pagination.expect_token_borne(letters("abc"), token)
    with pytest.raises(Broken, match="real entries"):
        pagination.expect_token_borne(letters("", lambda *_: Page([""])), token)


@pytest.mark.parametrize(("length", "size"), [(0, 1), (3, 1), (200, 1), (201, 2), (1000, 5)])
def test_pages_are_as_small_as_is_bearable(length: int, size: int) -> None:
    """A foreign driver may have thousands of volumes."""
    assert pagination.smallest_pages("x" * length) == size


def test_the_lists_of_a_driver_are_walked(csi: Any) -> None:
    """Volumes, snapshots of a volume, and volumes that are sick."""
    volume = csi.steps.volume()
    snapshot = csi.steps.snapshot(volume)
    assert pagination.volumes(csi).ids() == [volume.volume_id]
    assert pagination.snapshots(csi, volume.volume_id).ids() == [snapshot.snapshot_id]
    assert pagination.snapshots(csi, snapshot_id="none").ids() == []
    assert pagination.sick_volumes(csi).ids() == []
