"""Ids, beginnings of ids, filters."""

from __future__ import annotations

import attrs
import pytest

from refimpl.cri.state.lookup import find, get, matching
from refimpl.cri.state.models import Sandbox, SandboxKey, Wanted
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith


@pytest.fixture
def table(key: SandboxKey) -> dict[str, Sandbox]:
    """Three sandboxes, two of which begin alike."""
    first = Sandbox("abc1", key, None, {"app": "web", "tier": "front"}, "", 1)
    others = (attrs.evolve(first, id="abd2", labels={"app": "web"}), attrs.evolve(first, id="b"))
    return {each.id: each for each in (first, *others)}


def test_the_beginning_of_an_id_is_enough_if_it_is_of_one(
    table: dict[str, Sandbox], refused: RefusedWith
) -> None:
    """People paste what tables have cut off."""
    for sent, whole in (("abc1", "abc1"), ("abd", "abd2"), ("b", "b")):
        assert get(table, sent, "sandbox").id == whole
    with refused(Code.INVALID_ARGUMENT, "'ab'", "2 ids"):
        find(table, "ab", "sandbox")


def test_an_unknown_id_is_not_found_and_an_empty_one_is_an_error(
    table: dict[str, Sandbox], refused: RefusedWith
) -> None:
    """D1, D2: an empty id is the beginning of all, and must not stop any of them."""
    assert find(table, "abc12", "sandbox") is None
    with refused(Code.NOT_FOUND, "abc12"):
        get(table, "abc12", "sandbox")
    with refused(Code.INVALID_ARGUMENT, "empty"):
        find(table, "", "sandbox")


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Wanted(), ["abc1", "abd2", "b"]),
        (Wanted(id="abc1"), ["abc1"]),
        (Wanted(id="abd"), ["abd2"]),
        (Wanted(id="ab"), []),
        (Wanted(id="unknown"), []),
        (Wanted(state=0), ["abc1", "abd2", "b"]),
        (Wanted(state=1), []),
        (Wanted(sandbox_id="b"), ["b"]),
        (Wanted(labels={"app": "web"}), ["abc1", "abd2", "b"]),
        (Wanted(labels={"app": "web", "tier": "front"}), ["abc1", "b"]),
        (Wanted(labels={"app": "we"}), []),
        (Wanted(id="b", labels={"tier": "front"}), ["b"]),
    ],
)
def test_all_of_a_filter_has_to_hold(
    table: dict[str, Sandbox], wanted: Wanted, ids: list[str]
) -> None:
    """And what fits nothing is no error."""
    assert [each.id for each in matching(table, wanted)] == ids
