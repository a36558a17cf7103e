"""Walks whose rest goes away, shown on a list of letters whose tokens are places."""

from __future__ import annotations

import attrs
import pytest

from conformance.csi.common.deleted_rest import expect_end_moves
from conformance.csi.common.pagination import Listing
from conformance.engine.verdict import Broken, Doubtful
from refimpl.wire.status import Code, Refused


@attrs.frozen
class Page:
    """An answer of a list."""

    entries: list[str]
    next_token: str = ""


@attrs.define
class Letters:
    """A list that shrinks. beyond: what a token beyond its end comes to; None is an empty page."""

    text: str
    beyond: Refused | None = None
    asked: list[str] = attrs.field(factory=list)

    def page(self, size: int, token: str) -> Page:
        """The letters from the place on."""
        self.asked.append(token)
        begin = int(token or 0)
        if token and begin >= len(self.text) and self.beyond:
            raise self.beyond
        end = begin + size if size else len(self.text)
        return Page(list(self.text[begin:end]), str(end) if end < len(self.text) else "")

    def remove(self, letter: str) -> None:
        """One letter is gone."""
        self.text = self.text.replace(letter, "")

    @property
    def listing(self) -> Listing:
        """As cases walk through it."""
        return Listing("ListLetters", self.page, lambda entry: entry)


@pytest.mark.parametrize("beyond", [None, Refused(Code.ABORTED, "start again")])
def test_an_end_that_moves_is_the_end_or_a_reason_to_start_again(beyond: Refused | None) -> None:
    """The token is the earliest that own letters alone follow; all own ones are gone at last."""
    letters = Letters("xyabcd", beyond)
    expect_end_moves([letters.listing], "abcd", letters.remove)
    assert letters.text == "xy"
    assert letters.asked[-1] == "2"


def test_any_other_error_is_broken() -> None:
    """Nothing is wrong inside of the driver."""
    letters = Letters("abcd", Refused(Code.INTERNAL, "index out of range"))
    with pytest.raises(Broken, match="ends the list or is refused"):
        expect_end_moves([letters.listing], "abcd", letters.remove)


def test_what_is_gone_and_shown_is_doubtful() -> None:
    """CSI allows for much in a list that changes."""
    letters = Letters("abcd")
    with pytest.raises(Doubtful, match="shows nothing that is gone"):
        expect_end_moves([letters.listing], "abcd", lambda _: None)


def test_a_list_that_gives_no_token_is_left_for_one_that_does() -> None:
    """Some drivers page the whole list, and not that of one volume."""
    short, paged = Letters("a"), Letters("abcd")
    expect_end_moves([short.listing, paged.listing], "abcd", paged.remove)
    assert (short.text, paged.text) == ("a", "")


def test_where_others_come_last_there_is_nothing_to_judge() -> None:
    """What is not ours is not deleted."""
    letters = Letters("abcdx")
    with pytest.raises(pytest.skip.Exception, match="entries of others come last"):
        expect_end_moves([letters.listing], "abcd", letters.remove)
    assert letters.text == "abcdx"
