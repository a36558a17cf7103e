"""Sets of NUMA nodes as numbers."""

from __future__ import annotations

from refimpl.deviceplugin.state import bitmask


def test_a_mask_holds_the_nodes_it_was_made_of() -> None:
    """And leaves out what no mask can hold."""
    assert bitmask.mask_of([2, 0, 2]) == 0b101
    assert bitmask.nodes_of(0b101) == (0, 2)
    assert bitmask.width(0b101) == 2
    assert bitmask.mask_of([-1, 64]) == 0
    assert bitmask.nodes_of(bitmask.mask_of([63])) == (63,)


def test_masks_grow() -> None:
    """Narrow ones come first, nothing comes twice."""
    assert [*bitmask.growing([0, 2, 3])] == [1, 4, 8, 5, 9, 12, 13]
    assert [*bitmask.growing([])] == []


def test_messages_show_nodes() -> None:
    """Not the number behind them."""
    assert bitmask.text(0b101) == "{0,2}"
    assert bitmask.text(0) == "{}"
    assert bitmask.text(None) == "any"
