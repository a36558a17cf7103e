"""YAML is read strictly: what is odd or broken is said with its place."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st

from refimpl.documents import yaml
from refimpl.documents.document import DEEPEST, DocumentError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: {b: [1, 'x']}", {"a": {"b": [1, "x"]}}),
        ("[~, null, true, FALSE, '']", [None, None, True, False, ""]),
        ("[0x1f, 0o17, 017, -3, +4, 0]", [31, 15, 15, -3, 4, 0]),
        ("[1.50, 1e3, .5]", [Decimal("1.50"), Decimal("1e3"), Decimal("0.5")]),
        ("[2001-01-01, 1:30, 1_000, 08]", ["2001-01-01", "1:30", "1_000", "08"]),
        ("[!!str 7, !!int 7, !!float 7, ! 7]", ["7", 7, 7, "7"]),
        ("a:\nb: ~", {"a": None, "b": None}),
        ("1: a\ntrue: b", {"1": "a", "true": "b"}),
        ("--- |\n two\n lines\n", "two\nlines\n"),
    ],
)
def test_plain_values_are_what_the_core_schema_says(text: str, value: Any) -> None:
    """Dates and sexagesimal numbers are strings: no vendor means them."""
    read = yaml.parse(text.encode()).value
    assert read == value
    assert repr(read) == repr(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("a: yes", "word"), ("a: 0644", "number"), ("a: 9007199254740993", "number")],
)
def test_what_other_readers_see_differently_is_noted(text: str, kind: str) -> None:
    """Go's YAML 1.1 readers and YAML 1.2 are divided about these."""
    (note,) = yaml.parse(text.encode()).notes
    assert (note.kind, note.pointer, note.line, note.column) == (kind, ("a",), 1, 4)


def test_a_byte_order_mark_is_noted() -> None:
    """As in JSON."""
    document = yaml.parse(b"\xef\xbb\xbfa: 1")
    assert document.value == {"a": 1}
    assert [note.kind for note in document.notes] == ["byte-order-mark"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (b"", "1:1", "empty"),
        (b"# only a comment\n", "1:1", "empty"),
        (b"a: 1\n---\nb: 2\n", "2:1", "second document"),
        (b"a: 1\nb: 2\na: 3\n", "3:1", "'a' is given twice"),
        (b"a: [1\n", "2:1", "expected ',' or ']'"),
        (b"a: &x [*x]\n", "1:8", "contains itself"),
        (b"a: *x\n", "1:4", "no anchor"),
        (b"a: !!python/object:os.system {}\n", "1:4", "no plain value"),
        (b"a: !mine 3\n", "1:4", "no plain value"),
        (b"a: !!int three\n", "1:4", "no plain value"),
        (b"? [a]\n: 1\n", "1:3", "no scalar"),
        (b"&a a: 1\n*a : 1\n", "2:1", "a key that is an alias"),
        (b"a: .inf\n", "1:4", "not a number"),
        (b"<<: 3\n", "1:1", "merges something else"),
        (b"a: \x07\n", "1:4", "control characters"),
        (b"a: \xff\n", "1:4", "not UTF-8"),
        (b"a: b: c\n", "1:5", "not allowed"),
    ],
)
def test_a_broken_text_is_refused_with_its_place(text: bytes, place: str, message: str) -> None:
    """File, line, column, the defect and what to do."""
    with pytest.raises(DocumentError) as caught:
        yaml.parse(text, name="f.yaml")
    assert str(caught.value).startswith(f"f.yaml:{place}: ")
    assert message in str(caught.value)


def test_aliases_and_merges_give_the_same_values_again() -> None:
    """Members of the mapping itself win over merged ones, the first merged over the later."""
    text = b"base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nused: {<<: [*b, *o], x: 9}\n"
    document = yaml.parse(text)
    assert document.value["used"] == {"x": 9, "y": 2, "z": 4}
    assert document.position(("used", "y")) == (1, 20)
    assert document.position(("used", "x")) == (3, 25)


def test_a_few_aliases_cannot_stand_for_billions_of_values() -> None:
    """Ten levels of ten aliases are ten billion; memory is not asked for them."""
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        b"a%d: &a%d [%s]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 11)
    ]
    with pytest.raises(DocumentError, match="aliases add more than"):
        yaml.parse(b"\n".join(lines))


def test_depth_is_bounded_and_costs_no_stack() -> None:
    """An attack ends with a place, not with a RecursionError."""
    deep = yaml.parse(b"[" * 500 + b"]" * 500)
    assert deep.position((0,) * 499) == (1, 500)
    with pytest.raises(DocumentError, match=r"nest|levels"):
        yaml.parse(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1))
    block = b"".join(b" " * n + b"a:\n" for n in range(DEEPEST + 2))
    with pytest.raises(DocumentError, match=r"nest|levels"):
        yaml.parse(block)


def test_every_value_has_its_place_and_its_spelling() -> None:
    """Of a member also the place of its name; of a missing one the place of what would hold it."""
    document = yaml.parse(b"devices:\n- name: 007\n  tags: [a, b]\n")
    assert document.position(("devices", 0, "name")) == (2, 9)
    assert document.key_position(("devices", 0, "name")) == (2, 3)
    assert document.position(("devices", 0, "tags", 1)) == (3, 13)
    assert document.position(("devices", 0, "nothing")) == (2, 3)
    assert document.position(()) == (1, 1)
    assert document.value["devices"][0]["name"] == 7
    assert document.spelled(("devices", 0, "name")) == "007"
    assert document.spelled(("devices", 0, "tags")) is None


@given(st.text(max_size=60))
def test_no_text_makes_the_reader_raise_anything_else(text: str) -> None:
    """DocumentError is the only way to refuse."""
    place = (1, 1)
    try:
        place = yaml.parse(text.encode("utf-8", "surrogatepass")).position(())
    except DocumentError as error:
        place = (error.line, error.column)
    assert place >= (1, 1)


_PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("ab:#- '\"\n7", max_size=8)
)
_TREES = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab:-", max_size=3), inner),
    max_leaves=8,
)


@given(_TREES)
def test_what_a_writer_wrote_is_read_again(value: Any) -> None:
    """The same values that PyYAML's safe dumper was given."""
    assert yaml.parse(pyyaml.safe_dump(value).encode()).value == value
