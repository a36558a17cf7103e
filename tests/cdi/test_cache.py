"""The devices of a machine are always those of now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.cdi.cache import Cache
from refimpl.cdi.registry import Unresolved

Put = Callable[..., Path]  # see conftest.py
GPU = "vendor.com/gpu=0"


@pytest.mark.parametrize("watched", [True, False])
def test_a_file_that_comes_is_there_and_one_that_goes_is_gone(
    put: Put, tmp_path: Path, watched: bool
) -> None:
    """CDI-036, CDI-037: without asking for a refresh, from before the directory exists."""
    with Cache([tmp_path / "cdi"], watched=watched) as cache:
        assert cache.registry.names == ()
        path = put("cdi/a.json")
        assert cache.registry.names == (GPU,)
        assert cache.registry.names == cache.refresh().names
        path.unlink()
        assert cache.registry.names == ()


def test_nothing_is_read_again_where_nothing_changed(put: Put, tmp_path: Path) -> None:
    """The registry is the same object until something does."""
    put("cdi/a.json")
    with Cache([tmp_path / "cdi"]) as cache:
        first = cache.registry
        assert cache.registry is first
        put("cdi/b.json", kind="o.com/nic")
        assert cache.registry is not first


def test_a_file_seen_half_written_comes_back_whole(put: Put, tmp_path: Path) -> None:
    """CDI-038: never half a device."""
    path = put("cdi/a.json")
    text = path.read_text()
    with Cache([tmp_path / "cdi"]) as cache:
        path.write_text(text[: len(text) // 2])
        assert cache.registry.names == ()
        assert cache.registry.problems[str(path)]
        path.write_text(text)
        assert cache.registry.names == (GPU,)
        assert cache.registry.problems == {}


def test_devices_of_now_are_injected(put: Put, tmp_path: Path) -> None:
    """By their names."""
    with Cache([tmp_path / "cdi"]) as cache:
        with pytest.raises(Unresolved, match="no file defines the kind"):
            cache.inject({}, [GPU])
        put("cdi/a.json")
        assert cache.inject({}, [GPU]) == {"process": {"env": ["A=b"]}}


def test_the_policy_decides_what_loads(put: Put, tmp_path: Path) -> None:
    """A vendor that is no domain name."""
    put("cdi/a.json", kind="Vendor_x/gpu")
    for policy, names in (("practice", ("Vendor_x/gpu=0",)), ("strict", ())):
        with Cache([tmp_path / "cdi"], policy=policy) as cache:  # type: ignore[arg-type]
            assert cache.registry.names == names
