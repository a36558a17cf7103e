"""Files of somebody else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.csi.common import foreign, mounts


def test_a_file_that_was_left_alone_has_no_harm(csi: Any, tmp_path: Path) -> None:
    """And goes when the case ends, with nothing else."""
    laid = foreign.at(csi, str(tmp_path / "file"))
    inner = foreign.inside(csi, str(tmp_path / "a" / "b"))
    assert laid.harm() == inner.harm() == ""
    csi.scope.close()
    assert sorted(os.listdir(tmp_path)) == ["a"]
    assert os.listdir(tmp_path / "a" / "b") == []


def test_what_was_done_to_a_file_is_told(csi: Any, tmp_path: Path) -> None:
    """Changed, or gone."""
    laid = foreign.at(csi, str(tmp_path / "file"))
    Path(laid.path).write_bytes(b"mine now")
    assert laid.harm() == f"{laid.path} holds b'mine now'"
    os.unlink(laid.path)
    assert laid.harm() == f"{laid.path}: No such file or directory"
    laid.remove()


def test_a_link_goes_and_what_it_leads_to_stays(csi: Any, tmp_path: Path) -> None:
    """A driver may have put something else in its place: that is not ours."""
    (tmp_path / "real").mkdir()
    for name in ("link", "replaced"):
        foreign.link(csi, str(tmp_path / name), str(tmp_path / "real"))
    (tmp_path / "replaced").unlink()
    (tmp_path / "replaced").write_text("other")
    csi.scope.close()
    assert sorted(os.listdir(tmp_path)) == ["real", "replaced"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_mount_is_on_record_until_it_is_off(csi: Any, tmp_path: Path) -> None:
    """A run that is killed in between leaves it to a sweep."""
    ledger, path = csi.cleanup.calls.ledger, str(tmp_path)
    for taken_off, left in ((True, []), (False, [path])):
        foreign.bind(csi, path, path)
        assert [entry.name for entry in ledger.entries()] == [path]
        if taken_off:
            mounts.uncover(path)
        csi.scope.close()
        assert [entry.name for entry in ledger.entries()] == left
    mounts.uncover(path)
