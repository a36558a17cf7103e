"""Problems and how they speak of values."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pytest

from refimpl.cni.contract.problem import Kind, Problem, ShapeError, describe, pointer, wanted


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true"),
        (0, "the integer 0"),
        (Decimal("1.0"), "the number 1.0"),
        (1.5, "the number 1.5"),
        ("a\n", "the string 'a\\n'"),
        ([], "an empty array"),
        ([1], "an array of 1"),
        ({}, "an empty object"),
        ({"a": 1}, "an object"),
        ((), "a Python tuple, which is no JSON"),
    ],
)
def test_values_are_told_in_the_words_of_json(value: object, words: str) -> None:
    """A reader of the sentence need not know Python."""
    assert wanted("x", value) == f"wanted x, got {words}"


@pytest.mark.parametrize(
    "value",
    [10**5000, "a" * 10**6, Decimal("1" * 5000), [0] * 10**5],
    ids=["int", "str", "Decimal", "list"],
)
def test_a_large_value_is_told_in_few_words(value: object) -> None:
    """Python even refuses to print an integer of more than 4300 digits."""
    assert len(describe(value)) < 100


def test_pointers_escape_what_they_use_themselves() -> None:
    """RFC 6901: "~" and "/" within a name."""
    assert pointer(pointer("/a", "b/c~d"), 0) == "/a/b~1c~0d/0"


def test_an_error_tells_its_first_problems_and_counts_the_others() -> None:
    """A hostile document must not make a message of megabytes."""
    problems = [Problem(f"/{n}", "bad", Kind.TYPE) for n in range(13)]
    text = str(ShapeError("a result", problems))
    assert text.startswith("not a result: /0: bad; /1: bad")
    assert text.endswith("/9: bad (and 3 more)")
    assert str(ShapeError("a result", [Problem("", "bad")])) == "not a result: the document: bad"


def test_an_error_travels_between_processes() -> None:
    """Test workers hand exceptions over by pickle."""
    problem = Problem("/a", "bad", Kind.NULL)
    copy = pickle.loads(pickle.dumps(ShapeError("a result", [problem])))
    assert (copy.what, copy.problems) == ("a result", (problem,))
