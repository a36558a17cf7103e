"""The document as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., Any]
SOUND = b'{"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "t"}]}'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[]", "an empty array"),
        (b"", "empty"),
        (b"\xff", "not UTF-8"),
        (b"// x\n" + SOUND, "comment"),
        (SOUND[:-1] + b",}", "comma before the closing bracket"),
        (b"\xef\xbb\xbf" + SOUND, "byte order mark"),
        (SOUND + SOUND, "more text"),
    ],
)
def test_what_no_loader_reads_is_an_error(judged: Judged, data: bytes, words: str) -> None:
    """Comments and marks pass in many editors and in no runtime."""
    (finding,) = judged(data)
    assert (finding.id, finding.severity) == ("CNI-CFG-001", "error")
    assert words in finding.message


def test_the_place_of_a_broken_text_is_the_character(judged: Judged) -> None:
    """Line and column as an editor counts them."""
    (finding,) = judged(b'{"cniVersion": "1.0.0",\n  "name": "n",,\n}')
    assert (finding.line, finding.column) == (2, 15)


def test_a_repeated_member_is_a_warning_at_the_second_one(judged: Judged) -> None:
    """It loads, with a value that one of its authors did not write."""
    (finding,) = judged(SOUND.replace(b'"name": "n"', b'"name": "a",\n "name": "b"'))
    assert (finding.id, finding.severity) == ("CNI-CFG-001", "warning")
    assert (finding.line, finding.column) == (2, 2)


@pytest.mark.parametrize("number", [b"9007199254740993", b"1.0", b"1e400", b"0.12345678901234567"])
def test_a_number_that_changes_on_its_way_is_a_warning(judged: Judged, number: bytes) -> None:
    """libcni sends every number through float64."""
    (finding,) = judged(SOUND.replace(b'"t"', b'"t",\n"x": ' + number))
    assert (finding.id, finding.severity) == ("CNI-CFG-036", "warning")
    assert (finding.line, finding.column) == (2, 6)


def test_ordinary_numbers_are_fine(judged: Judged) -> None:
    """An mtu, a rate, a fraction."""
    assert judged(SOUND.replace(b'"t"', b'"t", "x": [1500, -1, 0.5, 9007199254740992]')) == []
