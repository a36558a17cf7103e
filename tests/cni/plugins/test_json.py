"""JSON in and out, exact."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cni.plugins.json import Number, dumps, loads, parse_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_what_goes_out_comes_back(value) -> None:
    """And is what any other reader sees."""
    assert loads(dumps(value)) == value
    assert json.loads(dumps(value)) == value


@pytest.mark.parametrize(
    "text",
    ["1.0", "1e400", "-0.50", "1E+2", "9007199254740993", "9" * 5000, '"\\ud800"', "[1.5,{}]"],
)
def test_numbers_and_odd_text_keep_their_spelling(text) -> None:
    """Value for value, digit for digit."""
    assert dumps(loads(text.encode())) == text.encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\xff", "UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"{}{}", "more follows"),
        (b"{} x", "more follows"),
        (b"[NaN]", "NaN"),
        (b"-Infinity", "Infinity"),
        (b"[" * 100_000, "nests"),
        (b"[" * 501 + b"]" * 501, "nests"),
        (b"[1,]", "no value|Illegal"),
        (b"{'a':1}", "Expecting"),
        (b"// c\n{}", "no value"),
        (b'"\x01"', "control character"),
        (b"tru", "no value"),
    ],
)
def test_what_is_no_json_is_named(data, words) -> None:
    """With what is wrong."""
    with pytest.raises(ValueError, match=words):
        loads(data)


def test_nesting_up_to_the_limit_and_many_brackets_side_by_side_are_read() -> None:
    """Breadth is no depth."""
    assert loads(b"[" * 500 + b"]" * 500)
    assert len(loads(b"[" + b",".join([b"[{}]"] * 2000) + b"]")) == 2000


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"null", "null"), (b"[]", "array"), (b'"x"', "string"), (b"1", "number"), (b"true", "bool")],
)
def test_an_object_is_asked_for(data, kind) -> None:
    """And what came instead is named."""
    with pytest.raises(ValueError, match=kind):
        parse_object(data)


def test_the_last_of_two_members_counts() -> None:
    """As most readers have it."""
    assert parse_object(b'{"a":1,"a":2}') == {"a": 2}


def test_a_number_is_its_text() -> None:
    """Two spellings are two."""
    assert Number("1.0") == Number("1.0")
    assert Number("1.0") != Number("1.00")
    assert len({Number("1.0"), Number("1.0")}) == 1
    assert float(Number("0.5")) == 0.5
    assert repr(Number("1e400")) == "1e400"
