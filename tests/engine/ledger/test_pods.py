"""Pods of killed runs are removed by their uid."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.ledger import pods
from conformance.engine.ledger.entries import LedgerEntry
from conformance.engine.options import BadOption
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.client import Unreachable
from tests.engine.scripted_cri import ScriptedCri


def test_the_pod_of_a_uid_goes_and_no_other(tmp_path: Path) -> None:
    """Those of others may have the same name."""
    with ScriptedCri(tmp_path) as cri:
        cri.pods = {
            "1": pb.PodSandboxMetadata(name="a", uid="ours"),
            "2": pb.PodSandboxMetadata(name="a", uid="theirs"),
        }
        sweeper = pods.leftovers(cri.target)
        try:
            assert sweeper.undo(LedgerEntry(1, pods.POD, "ours")) == ("pod ours removed", True)
            assert sweeper.undo(LedgerEntry(1, pods.POD, "ours")) == (
                "pod ours was gone already",
                True,
            )
        finally:
            sweeper.close()
        assert list(cri.pods) == ["2"]


def test_a_runtime_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has can be removed when it is back."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.01")
    with pytest.raises(Unreachable):
        pods.leftovers(f"unix://{tmp_path}/none.sock")
    with pytest.raises(BadOption):
        pods.leftovers("ftp://x")
