"""JSON documents: exact values, and a line and a column for everything that is wrong or odd."""

from __future__ import annotations

import json as standard
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.documents import json
from refimpl.documents.scan import JsonScanner

BOM = b"\xef\xbb\xbf"

WORDS = st.text(st.characters(codec="utf-8"))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda d: d + Decimal("0.5")),
    WORDS,
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner), max_leaves=20
)


def test_numbers_keep_their_exact_value() -> None:
    """A request passes a user's numbers on; float64 would change this one in its last digit."""
    value = json.parse(b'{"a":9007199254740993,"b":1.0,"c":1e400,"d":-0.10}').value
    assert value["a"] == 9007199254740993
    assert [str(value[key]) for key in "bcd"] == ["1.0", "1E+400", "-0.10"]


@given(value=VALUES)
def test_what_was_dumped_reads_back_the_same(value: Any) -> None:
    """Dump and parse are each other's inverse for every value a document can hold."""
    assert json.parse(json.dump(value)).value == value


@given(value=VALUES)
def test_both_readers_see_the_same_value(value: Any) -> None:
    """The thorough reader steps in for the quick one, so they must never differ."""
    text = json.dump(value).decode()
    assert JsonScanner(text, "").read().value == json.parse(text.encode()).value


@given(text=st.text(st.sampled_from('{}[]:,"\\u0d8aE+-.1 \nnultre/')))
def test_both_readers_refuse_the_same_texts(text: str) -> None:
    """What the standard library refuses is refused, and nothing else (but half surrogates)."""
    try:
        standard.loads(text)
        sound = True
    except standard.JSONDecodeError:
        sound = False
    try:
        json.parse(text.encode())
        accepted = True
    except json.DocumentError as error:
        accepted = "surrogate" in str(error)
    assert accepted == sound


@given(data=st.binary())
def test_no_bytes_raise_anything_but_a_document_error(data: bytes) -> None:
    """Readers catch one exception; any other would end a lint run half way."""
    try:
        value = json.parse(data).value
    except json.DocumentError as error:
        value = [error.line, error.column]
    assert json.parse(json.dump(value)).value == value


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        (b"", (1, 1), "empty"),
        (b" \n ", (1, 1), "empty"),
        (b'{"a":1} {}', (1, 9), "after the end"),
        (b'{\n"a": NaN}', (2, 6), "NaN"),
        (b"[-Infinity]", (1, 2), "-Infinity"),
        (b"// x\n{}", (1, 1), "comment"),
        (b'{"a":1, # x\n"b":2}', (1, 9), "comment"),
        (b'{"a":1,}', (1, 7), "trailing comma"),
        (b"[1,\n]", (1, 3), "trailing comma"),
        (b"{'a':1}", (1, 2), "single quote"),
        (b"{a:1}", (1, 2), "double quotes"),
        (b'{"a":True}', (1, 6), "true, false or null"),
        (b'{"a" 1}', (1, 6), "colon"),
        (b"[1 2]", (1, 4), "comma"),
        (b"[01]", (1, 2), "01"),
        (b'{"a":', (1, 6), "ends too early"),
        (b'{"a":"b\n"}', (1, 6), "closing quote"),
        (b'["\t"]', (1, 3), "control character"),
        (b'["\\x"]', (1, 3), "escape"),
        (b'["ok", "\\ud800"]', (1, 8), "surrogate"),
        (b'["\xc3\xa9\xff"]', (1, 4), "0xff is not UTF-8"),
        ('{"a":1}'.encode("utf-16"), (1, 1), "UTF-16"),
        (b"1e99999999999999999999", (1, 1), "out of range"),
    ],
)
def test_a_broken_text_is_told_with_its_place(
    data: bytes, place: tuple[int, int], words: str
) -> None:
    """Somebody edits this file by hand: the message leads to the character."""
    with pytest.raises(json.DocumentError) as caught:
        json.parse(data, name="10-net.conf")
    assert (caught.value.line, caught.value.column) == place
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"10-net.conf:{place[0]}:{place[1]}: ")


def test_an_error_without_a_name_tells_line_and_column() -> None:
    """A document from a pipe has no file to name."""
    with pytest.raises(json.DocumentError, match=r"^line 1, column 2: "):
        json.parse(b"{]")


def test_a_thousand_levels_are_read_and_one_more_is_refused() -> None:
    """The bound is ours, so that no depth of a stack decides whether a document is read."""
    sound = b"[" * 1000 + b"]" * 1000
    assert json.dump(json.parse(sound).value) == sound
    for opened in (1001, 100_000):
        with pytest.raises(json.DocumentError, match="deeper than 1000"):
            json.parse(b"[" * opened)


def test_brackets_in_strings_do_not_count_as_depth() -> None:
    """A template may hold thousands of brackets in one string."""
    assert json.parse(b'["' + b"[" * 5000 + b'"]').value == ["[" * 5000]


def test_a_repeated_member_is_noted_where_it_stands() -> None:
    """The last one counts, as in every Go reader; a person most likely did not mean that."""
    document = json.parse(b'{"a": [{"b": 1,\n  "b": 2}]}')
    (note,) = document.notes
    assert (note.kind, note.pointer) == ("duplicate-key", ("a", 0, "b"))
    assert (note.line, note.column) == (2, 3)
    assert document.value == {"a": [{"b": 2}]}


def test_a_byte_order_mark_is_noted_and_skipped() -> None:
    """Go's reader refuses it; the value is beyond doubt, though."""
    document = json.parse(BOM + b'{"a":1}')
    assert [note.kind for note in document.notes] == ["byte-order-mark"]
    assert document.value == {"a": 1}
    assert document.position(("a",)) == (1, 6)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (b"9007199254740993", r"2\^53"),
        (b"-9007199254740994", r"2\^53"),
        (b"1.0", "written as a float"),
        (b"1e3", "written as a float"),
        (b"1e400", "beyond float64"),
        (b"0.12345678901234567890123", "more digits"),
        (b"1" * 5000, "5000 characters"),
    ],
)
def test_a_number_that_others_change_is_noted(number: bytes, words: str) -> None:
    """Most readers hold numbers as float64."""
    (note,) = json.parse(b'{"a": ' + number + b"}").notes
    assert (note.kind, note.pointer, note.line, note.column) == ("number", ("a",), 1, 7)
    assert re.search(words, note.text)


@pytest.mark.parametrize("number", [b"0", b"-1", b"9007199254740992", b"0.1", b"1.5", b"2.5e-3"])
def test_an_ordinary_number_is_not_noted(number: bytes) -> None:
    """A note on every fraction would bury the ones that matter."""
    assert json.parse(b"[" + number + b"]").notes == ()


def test_notes_are_bounded() -> None:
    """A hostile document must not turn into millions of notes."""
    assert len(json.parse(b"[" + b"1.0," * 5000 + b"1]").notes) == 1000


def test_positions_are_of_the_value_or_of_its_name() -> None:
    """A wrong value is shown at the value, an unknown member at its name."""
    document = json.parse(b'{\n "a": {"b": [1,\n  2]}}')
    assert document.position(()) == (1, 1)
    assert document.position(("a", "b", 1)) == (3, 3)
    assert document.position(("a", "b")) == (2, 13)
    assert document.key_position(("a", "b")) == (2, 8)
    assert document.key_position(("a", "b", 1)) == (3, 3)


def test_the_position_of_something_missing_is_that_of_what_lacks_it() -> None:
    """`name` is missing: the finding points at the object it is missing from."""
    document = json.parse(b'{"a":\n {"b": 1}}')
    assert document.position(("a", "missing", "deeper")) == (2, 2)
    assert document.position(("a", "b", "not a container")) == (2, 8)


def test_positions_count_characters_and_not_bytes() -> None:
    """Editors count characters."""
    assert json.parse('{"é": "ü", "x": 1}'.encode()).position(("x",)) == (1, 17)


def test_an_escaped_backslash_before_a_u_is_no_surrogate() -> None:
    """The text looks like half a pair and is not."""
    assert json.parse(rb'["\\ud800", "\ud83d\ude00"]').value == ["\\ud800", "\U0001f600"]


def test_a_dump_escapes_only_what_it_must() -> None:
    """Go's encoder turns these into escapes, which changes the bytes a plugin hashes."""
    assert json.dump({"a": "<&>é\n"}) == '{"a":"<&>é\\n"}'.encode()


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({1: 2}, TypeError),
        ({"a": object()}, TypeError),
        ([float("nan")], ValueError),
        ([Decimal("Infinity")], ValueError),
        ("\ud800", ValueError),
    ],
)
def test_what_has_no_json_form_is_not_dumped(value: Any, error: type[Exception]) -> None:
    """Better no document than one that nobody can read."""
    with pytest.raises(error):
        json.dump(value)
