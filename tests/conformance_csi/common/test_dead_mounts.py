"""Mounts that nobody can look at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.csi.common import dead_mounts, mounts

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(dead_mounts.DEVICE, os.R_OK | os.W_OK),
    reason="FUSE mounts take root and /dev/fuse",
)


@pytest.mark.parametrize("error", dead_mounts.ERRORS)
def test_every_look_at_a_dead_mount_fails(tmp_path: Path, error: int) -> None:
    """It is in the mount table all the same, and gone at the end."""
    with dead_mounts.dead_mount(str(tmp_path), error):
        with pytest.raises(OSError) as failure:  # noqa: PT011 - the number is what counts
            tmp_path.lstat()
        assert failure.value.errno == error
        assert dead_mounts.left(str(tmp_path)) == "a mount of fuse"
    assert dead_mounts.left(str(tmp_path)) == "the target itself"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", dead_mounts.ERRORS)
def test_somebody_else_may_take_it_off(tmp_path: Path, error: int) -> None:
    """A driver that gets rid of it, and of the target."""
    target = tmp_path / "target"
    target.mkdir()
    with dead_mounts.dead_mount(str(target), error):
        mounts.take_away(str(target))
        assert dead_mounts.left(str(target)) == ""
