"""Error objects and codes."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.cni.generate import error_documents, json_values
from refimpl.cni.contract import (
    LATEST,
    MEANINGS,
    SPECIFIED,
    CniError,
    ErrorCode,
    ShapeError,
    allowed_code,
    error_problems,
    read_error,
)


def test_allowed_are_the_codes_of_the_table_and_those_from_100_on() -> None:
    """Everything else below 100 is reserved; 0 is no error."""
    allowed = [code for code in range(-1, 101) if allowed_code(code)]
    assert allowed == [1, 2, 3, 4, 5, 6, 7, 11, 50, 51, 100]


def test_every_code_has_a_meaning_and_8_is_not_of_the_specification() -> None:
    """The Go library has two codes of its own; its 999 is in the free range."""
    assert set(MEANINGS) == set(ErrorCode)
    assert set(ErrorCode) - SPECIFIED == {ErrorCode.INVALID_NETNS, ErrorCode.INTERNAL}
    assert allowed_code(ErrorCode.INTERNAL)
    assert not allowed_code(ErrorCode.INVALID_NETNS)


def test_an_error_speaks_with_message_details_and_code() -> None:
    """All a person needs to go on."""
    assert (
        str(CniError(7, "no name", "key 'name'")) == "no name; key 'name' (code 7 INVALID_CONFIG)"
    )
    assert str(CniError(120, "no")) == "no (code 120)"


def test_what_is_not_said_is_left_out() -> None:
    """No empty details, no empty version."""
    assert CniError(ErrorCode.IO, "no").to_dict() == {"code": 5, "msg": "no"}
    full = CniError(5, "no", "more", "1.0.0").to_dict()
    assert list(full) == ["cniVersion", "code", "msg", "details"]


@given(error_documents(LATEST))
def test_an_error_object_comes_back_from_its_error(document: dict[str, object]) -> None:
    """Also after it went to another process."""
    assert error_problems(document, LATEST) == []
    error = pickle.loads(pickle.dumps(read_error(document)))
    assert error.to_dict() == document


def test_a_breach_of_a_rule_is_still_an_error() -> None:
    """The reader must learn what the plugin said, however badly it said it."""
    error = read_error({"code": 8, "details": None})
    assert (error.code, error.msg, error.details, error.cni_version) == (8, "", "", "")


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (None, ""),
        ([], ""),
        ({}, "/code"),
        ({"code": "7"}, "/code"),
        ({"code": True}, "/code"),
        ({"code": -1}, "/code"),
        ({"code": Decimal("7.0")}, "/code"),
        ({"code": 7, "msg": 7}, "/msg"),
        ({"code": 7, "details": {}}, "/details"),
        ({"code": 7, "cniVersion": 1}, "/cniVersion"),
    ],
)
def test_what_is_no_error_object_is_refused(document: object, pointer: str) -> None:
    """A result printed with a failing exit, or a program of another kind."""
    with pytest.raises(ShapeError) as raised:
        read_error(document)
    assert [problem.pointer for problem in raised.value.problems] == [pointer]


@given(json_values() | st.dictionaries(st.sampled_from(["code", "msg", "details"]), json_values()))
def test_no_value_breaks_the_reader(value: object) -> None:
    """It gives an error, or refuses in one way."""
    try:
        error = read_error(value)
    except ShapeError:
        assert error_problems(value, LATEST)
    else:
        assert error.code >= 0
