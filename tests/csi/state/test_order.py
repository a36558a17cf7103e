"""The order of ids, against a plain list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.csi.state.order import Order


def test_a_walk_starts_anywhere_and_keeps_the_order_of_arrival() -> None:
    """More keys than one bucket holds, with holes across its borders."""
    order = Order()
    for number in range(1000):
        order.append(f"k{number}")
    for number in range(200, 600):
        order.remove(f"k{number}")
    assert [key for _, key in order.walk(199)] == [
        "k199",
        *(f"k{number}" for number in range(600, 1000)),
    ]
    assert len(order) == 600
    assert "k0" in order
    assert "k300" not in order


def test_positions_are_never_given_twice() -> None:
    """A token for a key that is gone must not lead to another one in its place."""
    order = Order()
    order.append("a")
    order.remove("a")
    order.append("a")
    assert order.position("a") == 1
    order.append("a")
    assert order.position("a") == 1
    with pytest.raises(KeyError):
        order.position("b")


def test_removing_an_unknown_key_changes_nothing() -> None:
    """Neither the order nor its generation."""
    order = Order()
    order.append("a")
    before = order.generation
    order.remove("b")
    assert (len(order), order.generation) == (1, before)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=200), st.integers(0, 220))
def test_it_behaves_like_a_list(steps: list[tuple[bool, int]], start: int) -> None:
    """Appending and removing at random, then walking from anywhere."""
    order, plain = Order(), list[tuple[int, str]]()
    position = 0
    for add, number in steps:
        key = str(number)
        present = any(old == key for _, old in plain)
        if add:
            order.append(key)
            if not present:
                plain.append((position, key))
                position += 1
        else:
            order.remove(key)
            plain = [item for item in plain if item[1] != key]
    assert list(order.walk(start)) == [item for item in plain if item[0] >= start]
