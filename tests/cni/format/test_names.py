"""Names of containers and interfaces."""

from __future__ import annotations

import pytest

from refimpl.cni.format.names import ifname_problem, is_name


@pytest.mark.parametrize("text", ["a", "0", "a_b.c-d", "A" * 300])
def test_letters_digits_and_three_marks_make_a_name(text: str) -> None:
    """No limit of length."""
    assert is_name(text)


@pytest.mark.parametrize("text", ["", "-a", ".a", "_a", "a/b", "a b", "\u00e4", "a\n"])
def test_other_text_is_no_name(text: str) -> None:
    """It begins with a letter or digit of ASCII."""
    assert not is_name(text)


@pytest.mark.parametrize("name", ["eth0", "a" * 15, "\udcff", "\u00e4" * 7])
def test_linux_takes_fifteen_bytes(name: str) -> None:
    """Bytes, not letters."""
    assert ifname_problem(name) == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "empty"),
        ("a" * 16, "15 bytes"),
        ("\u00e4" * 8, "15 bytes"),
        (".", "directory"),
        ("..", "directory"),
        ("a/b", "holds"),
        ("a:b", "holds"),
        ("a b", "holds"),
        ("a\0", "holds"),
        ("a\u3000", "holds"),
        ("\ud800", "no text"),
    ],
)
def test_what_linux_refuses_is_told(name: str, words: str) -> None:
    """In words that fit behind the name."""
    assert words in ifname_problem(name)
