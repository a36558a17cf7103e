"""Device nodes of cases, and the parts of a record."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from conformance.cdi.implementation import Act
from conformance.cdi.nodes import FakeNodes, RealNodes


def test_our_own_library_believes_in_nodes_that_are_not_there(tmp_path: Path) -> None:
    """Others are looked up."""
    nodes = FakeNodes()
    nodes.make(tmp_path / "node", "c", 240, 1)
    node = nodes.lookup(str(tmp_path / "node"))
    assert (node.type, node.major, node.minor) == ("c", 240, 1)
    assert nodes.lookup("/dev/null").major == 1
    with pytest.raises(FileNotFoundError):
        nodes.lookup(str(tmp_path / "none"))


def test_real_nodes_are_made_or_the_reason_is_told(tmp_path: Path) -> None:
    """A second one takes the place of the first."""
    nodes, path = RealNodes(), tmp_path / "node"
    if nodes.why_not():
        assert "cannot be made" in nodes.why_not()
        return
    for minor in (1, 2):
        nodes.make(path, "c", 240, minor)
        node = path.stat()
        assert stat.S_ISCHR(node.st_mode)
        assert os.minor(node.st_rdev) == minor


def test_a_long_document_is_cut_in_a_report() -> None:
    """A thousand devices help nobody there."""
    act = Act(1, 0.0, "load", {"a": "b" * 30_000}, {"error": "no"}, 0.0, "fake")
    shown = act.to_dict()
    assert len(shown["requests"][0]) < 21_000
    assert (act.code.name, bool(act.code), shown["message"]) == ("error", True, "no")
