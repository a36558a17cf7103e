"""Pages and tokens."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from refimpl.csi.state.order import Order
from refimpl.csi.state.paging import Book
from refimpl.csi.state.settings import DriverSettings
from refimpl.wire.status import Code, Refused


def book(label: str = "v", salt: str = "1", weight: int = 1, **values: Any) -> Book[str]:
    return Book(label, DriverSettings(**values), salt, lambda key: key, lambda _: weight)


def ordered(count: int) -> Order:
    order = Order()
    for number in range(count):
        order.append(str(number))
    return order


def walked(pages: Book[str], order: Order, *sizes: int) -> list[list[str]]:
    """All pages, with the sizes in turn."""
    token, entries = "", []
    while True:
        page = pages.page(order, token, sizes[len(entries) % len(sizes)])
        entries.append(page.entries)
        if not page.next_token:
            return entries
        token = page.next_token


@given(st.integers(0, 40), st.lists(st.integers(1, 45), min_size=1, max_size=3))
def test_a_walk_sees_everything_once_in_pages_of_the_size_asked(
    count: int, sizes: list[int]
) -> None:
    """Also when the size changes between pages; a token comes iff more follows."""
    pages = walked(book(), ordered(count), *sizes)
    assert [key for page in pages for key in page] == [str(number) for number in range(count)]
    assert all(len(page) <= max(sizes) for page in pages)
    assert pages[-1] or count == 0


@pytest.mark.parametrize("style", ["opaque", "index", "generation"])
def test_every_style_of_token_leads_through_the_list(style: Any) -> None:
    """Callers must not care what a token looks like."""
    assert walked(book(tokens=style), ordered(5), 2) == [["0", "1"], ["2", "3"], ["4"]]


def test_no_size_means_all_that_fits() -> None:
    """0 leaves the size to the driver, which keeps messages below what clients receive."""
    assert walked(book(), ordered(5), 0) == [["0", "1", "2", "3", "4"]]
    assert walked(book(page_entries=2), ordered(5), 0) == [["0", "1"], ["2", "3"], ["4"]]
    assert walked(book(page_entries=2), ordered(3), 1) == [["0"], ["1"], ["2"]]
    assert walked(book(weight=400, page_bytes=1000), ordered(5), 0) == [
        ["0", "1"],
        ["2", "3"],
        ["4"],
    ]


def test_an_entry_larger_than_a_page_still_comes() -> None:
    """Otherwise the walk would never end."""
    assert walked(book(weight=5000, page_bytes=1000), ordered(2), 0) == [["0"], ["1"]]


@pytest.mark.parametrize(
    "token",
    ["invalid-token", "0", "-1", "4294967295", "999999", "1e9", "\x01", "x" * 128, "v-0--00000000"],
)
@pytest.mark.parametrize("style", ["opaque", "index", "generation"])
def test_a_token_that_was_never_given_is_aborted(token: str, style: Any, refused: Any) -> None:
    """ABORTED tells the caller to start again; a crash would tell it nothing."""
    order = ordered(5)
    if style == "index" and token == "0":
        assert book(tokens=style).page(order, token, 0).entries == ["0", "1", "2", "3", "4"]
        return
    with refused(Code.ABORTED, "start again"):
        book(tokens=style).page(order, token, 0)


def test_tokens_belong_to_one_list_of_one_run(refused: Any) -> None:
    """A token for snapshots, or one from before a restart, points to something else here."""
    order = ordered(5)
    token = book().page(order, "", 2).next_token
    assert book().page(order, token, 2).entries == ["2", "3"]
    for other in (book("s"), book(salt="2")):
        with refused(Code.ABORTED):
            other.page(order, token, 2)


def test_a_token_may_be_used_twice_and_after_deletions() -> None:
    """What stays in the list is neither skipped nor repeated."""
    order, pages = ordered(6), book()
    token = pages.page(order, "", 2).next_token
    order.remove("0")
    order.remove("2")
    order.append("new")
    assert pages.page(order, token, 2).entries == ["3", "4"]
    assert pages.page(order, token, 0).entries == ["3", "4", "5", "new"]


def test_a_token_behind_the_last_entry_gives_an_empty_page() -> None:
    """Everything it stood for was deleted meanwhile."""
    order, pages = ordered(3), book()
    token = pages.page(order, "", 2).next_token
    order.remove("2")
    page = pages.page(order, token, 2)
    assert (page.entries, page.next_token) == ([], "")


def test_strict_tokens_die_with_the_first_change(refused: Any) -> None:
    """Some drivers give up a walk when the list changes; callers have to cope."""
    order, pages = ordered(5), book(tokens="generation")
    token = pages.page(order, "", 2).next_token
    assert pages.page(order, token, 2).entries == ["2", "3"]
    order.remove("0")
    with refused(Code.ABORTED):
        pages.page(order, token, 2)


def test_a_negative_number_of_entries_is_refused(refused: Any) -> None:
    """A slice with a negative bound would answer nonsense."""
    with refused(Code.INVALID_ARGUMENT, "max_entries"):
        book().page(ordered(3), "", -1)
    assert book().page(ordered(3), "", 2**31 - 1).entries == ["0", "1", "2"]


def test_an_oversized_token_is_refused(refused: Any) -> None:
    """The size rule holds for tokens, too."""
    with refused(Code.INVALID_ARGUMENT, "starting_token"):
        book().page(ordered(3), "x" * 129, 0)


@given(st.text(min_size=1, max_size=40), st.sampled_from(["opaque", "index", "generation"]))
def test_any_text_as_token_gives_a_page_or_a_status(token: str, style: Any) -> None:
    """Tokens come from outside; nothing but Refused may come out."""
    code, page = Code.OK, None
    try:
        page = book(tokens=style).page(ordered(3), token, 1)
    except Refused as error:
        code = error.code
    assert code == Code.ABORTED if page is None else (style == "index" and len(page.entries) <= 1)


class Walk(RuleBasedStateMachine):
    """A walk in pages of any size while the list changes (CSI-PROP-005)."""

    @initialize(count=st.integers(0, 30), seed=st.integers(0, 99))
    def begin(self, count: int, seed: int) -> None:
        """A list, and an empty token."""
        self.order, self.pages = ordered(count), book()
        self.random = random.Random(seed)
        self.stable = {str(number) for number in range(count)}
        self.seen: list[str] = []
        self.token, self.done, self.next = "", False, count

    @rule(size=st.integers(0, 7))
    def turn(self, size: int) -> None:
        """One more page."""
        if self.done:
            return
        page = self.pages.page(self.order, self.token, size)
        assert len(page.entries) <= (size or len(self.order))
        self.seen += page.entries
        self.token, self.done = page.next_token, not page.next_token

    @rule()
    def create(self) -> None:
        """Something new may or may not be seen."""
        self.order.append(str(self.next))
        self.next += 1

    @rule()
    def delete(self) -> None:
        """What is deleted no longer has to be seen."""
        if self.stable:
            removed = self.random.choice(sorted(self.stable))
            self.order.remove(removed)
            self.stable.discard(removed)

    @invariant()
    def nothing_is_missed_or_repeated(self) -> None:
        """What stayed all the time is seen exactly once by the end."""
        assert len(self.seen) == len(set(self.seen))
        assert not self.done or self.stable <= set(self.seen)


TestWalk = Walk.TestCase
TestWalk.settings = settings(max_examples=60, stateful_step_count=30)
