"""Long and unusual directories."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.csi.common import lengths


@pytest.mark.parametrize("length", [*lengths.LENGTHS, 201, 256, 457])
def test_a_path_is_as_long_as_asked(csi: Any, length: int) -> None:
    """To the byte, whatever the staging directory is; no component is longer than a name may be."""
    path = lengths.directory(csi, length)
    assert len(path.encode()) == length
    assert os.path.isdir(path)
    assert all(len(part) <= 255 for part in path.split("/"))


def test_a_path_cannot_be_shorter_than_where_it_lies(csi: Any) -> None:
    """Then it is as short as can be."""
    assert len(lengths.directory(csi, 5)) > 5


def test_all_of_it_goes_when_the_case_ends(csi: Any) -> None:
    """But what a driver has left in it."""
    paths = [lengths.directory(csi, 700), *(lengths.named(csi, name) for name in lengths.UNUSUAL)]
    assert [os.path.basename(path) for path in paths[1:]] == list(lengths.UNUSUAL)
    left = Path(paths[1], "data")
    left.write_text("x")
    csi.scope.close()
    assert not os.path.exists(paths[0])
    assert not os.path.exists(paths[2])
    assert left.read_text() == "x"
    left.unlink()
    left.parent.rmdir()
    left.parent.parent.rmdir()
