"""A CSI driver under test."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.csi.needs import TWO_ENDPOINTS, TWO_NODE_ENDPOINTS
from conformance.engine.targets import life
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver

SERVE = [sys.executable, "-m", "refimpl", "serve", "csi", "{endpoint}"]


def write(path: Path, text: str) -> str:
    """A target file."""
    path.write_text(text)
    return str(path)


def test_a_file_may_start_the_driver(tmp_path: Path, opened: Any) -> None:
    """It ends with the target; its last words and its death are told."""
    words = ", ".join(f'"{word}"' for word in SERVE)
    target = opened(write(tmp_path / "t.toml", f"command = [{words}]\n"))
    assert target.command == tuple(SERVE)
    assert target.lost() is None
    target.process.kill()
    loss = target.lost()
    assert loss.revived
    assert "ended with -9" in loss.reason
    process = target.process
    target.close()
    assert not process.running()


def test_calls_reach_the_endpoint_that_serves_them(tmp_path: Path, opened: Any) -> None:
    """Controller and node may have an address each."""
    with FakeDriver(tmp_path / "c.sock", storage="memory", nodes=2, split=True) as driver:
        table = ", ".join(f'"{endpoint}"' for endpoint in driver.nodes)
        text = f'endpoint = "{driver.endpoint}"\n[csi]\nnode_endpoints = [{table}]\n'
        target = opened(write(tmp_path / "t.toml", text))
        assert target.endpoint == driver.endpoint
        assert target.node_endpoints == driver.nodes
        assert len(target.nodes) == 2
        assert target.has(TWO_ENDPOINTS, TWO_NODE_ENDPOINTS)
        info = target.call("/csi.v1.Node/NodeGetInfo", pb.NodeGetInfoRequest())
        assert info.node_id == target.capabilities.node_id
        (call,) = target.calls(target.mark() - 1)
        assert driver.nodes[0].path in target.reproduce([call])
        target.close()


def test_a_line_repeats_what_can_be_repeated(tmp_path: Path, opened: Any) -> None:
    """A create whose reply repeats its name, and not what names a volume of before."""
    with FakeDriver(tmp_path / "c.sock", storage="memory") as driver:
        target = opened(str(driver.endpoint))
        mark = target.mark()
        volume = target.steps.volume(target.requests.volume(parameters={"a": "b"}))
        created = target.calls(mark)
        assert "CreateVolume" in target.reproduce(created)
        target.controller.DeleteVolume(target.requests.delete(volume.volume_id))
        assert target.reproduce(target.calls(mark)) == ""
        target.close()


def test_a_driver_that_is_gone_is_lost(
    tmp_path: Path, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that we did not start is waited for, and nothing else."""
    monkeypatch.setattr(life, "BACK_S", 0.05)
    driver = FakeDriver(tmp_path / "c.sock", storage="memory")
    driver.start()
    target = opened(str(tmp_path / "c.sock"))
    assert target.lost() is None
    driver.stop()
    loss = target.lost()
    assert not loss.revived
    assert "nobody answers" in loss.reason


def test_secrets_that_no_report_may_show_are_known(opened: Any, tmp_path: Path) -> None:
    """The longest first, so that none is left over in part; short words guard nothing."""
    file = tmp_path / "s.yaml"
    file.write_text("CreateVolumeSecret: {a: longer-secret, b: secret, c: me}\n")
    assert opened("fake", csi__secrets=str(file)).secrets == ["longer-secret", "secret"]


def test_what_a_case_made_is_undone_with_its_secrets(opened: Any, tmp_path: Path) -> None:
    """The ledger holds none, so they are put back."""
    file = tmp_path / "s.yaml"
    file.write_text("DeleteVolumeSecret: {token: canary}\n")
    target = opened("fake", csi__secrets=str(file))
    target.steps.mount()
    target.scope.close()
    delete = target.journal.calls("DeleteVolume")[-1]
    assert delete.requests[0].secrets == {"token": "canary"}
    assert not target.cleanup.calls.open_calls()
