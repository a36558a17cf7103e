"""Orders of what has none."""

from __future__ import annotations

import pytest

from refimpl.deviceplugin.state.order import order_of

NAMES = {"a", "b", "c", "d", "e"}


@pytest.mark.parametrize("name", ["sorted", "adversarial", "shuffled:7"])
def test_an_order_keeps_all_names(name: str) -> None:
    """Each once."""
    assert sorted(order_of(name)(NAMES)) == sorted(NAMES)
    assert order_of(name)([]) == []


def test_a_seed_makes_a_shuffle_come_back() -> None:
    """Otherwise a failure could not be reproduced."""
    first, second = order_of("shuffled:7"), order_of("shuffled:7")
    assert [first(NAMES) for _ in range(5)] == [second(NAMES) for _ in range(5)]
    assert len({tuple(first(NAMES)) for _ in range(50)}) > 1


def test_the_adversary_takes_from_both_ends() -> None:
    """No plugin may rely on neighbours or on rising ids."""
    assert order_of("adversarial")(NAMES) == ["e", "a", "d", "b", "c"]


@pytest.mark.parametrize("name", ["", "shuffled", "shuffled:x", "random"])
def test_other_orders_do_not_exist(name: str) -> None:
    """The message names those that do."""
    with pytest.raises(ValueError, match="sorted, adversarial, shuffled:SEED"):
        order_of(name)
