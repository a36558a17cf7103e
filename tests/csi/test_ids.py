"""Ids of volumes and snapshots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.csi import ids

NAMES = st.text(min_size=1, max_size=128)


@pytest.mark.parametrize("style", ids.STYLES)
@given(name=NAMES)
def test_every_style_fits_the_size_rule(style: str, name: str) -> None:
    """128 bytes, whatever the caller called its volume."""
    id = ids.style(style)("volume", name)
    assert 0 < len(id.encode()) <= 128
    assert id.isprintable()


@pytest.mark.parametrize("style", ["name", "hash"])
@given(first=NAMES, second=NAMES)
def test_ids_of_names_are_as_different_as_the_names(style: str, first: str, second: str) -> None:
    """The same name gives the same id, two names never one; kinds do not collide."""
    new = ids.style(style)
    assert (new("volume", first) == new("volume", second)) == (first == second)
    assert new("volume", first) != new("snapshot", first)


@pytest.mark.parametrize("style", ["uuid", "long"])
def test_random_ids_do_not_repeat(style: str) -> None:
    """Also for one name: a volume made anew is another one."""
    new = ids.style(style)
    assert len({new("volume", "a") for _ in range(100)}) == 100


def test_long_ids_use_all_that_is_allowed() -> None:
    """Callers that keep ids in short fields are found that way."""
    assert len(ids.style("long")("volume", "a")) == 128
