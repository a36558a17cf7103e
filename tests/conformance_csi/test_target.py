"""A CSI driver under test: how it is found, opened and closed."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from conformance.csi.needs import TWO_ENDPOINTS, TWO_NODE_ENDPOINTS
from conformance.csi.opening import open_target
from conformance.engine.options import BadOption
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.wire.client import Unreachable
from tests.targets import resolved

SERVE = [sys.executable, "-m", "refimpl", "serve", "csi", "{endpoint}"]


def write(path: Path, text: str) -> str:
    """A target file."""
    path.write_text(text)
    return str(path)


def test_a_target_file_says_all_of_it(tmp_path: Path, opened: Any) -> None:
    """Where the driver is, by which revision it is judged, and its settings."""
    with FakeDriver(tmp_path / "c.sock", storage="memory") as driver:
        text = f'endpoint = "{driver.endpoint}"\nrevision = "csi-1.12"\n[csi]\nvolume_size = 7\n'
        target = opened(write(tmp_path / "t.toml", text), csi__testvolumesize=8)
        assert target.name == target.capabilities.name != ""
        assert str(target.revision) == "csi-1.12"
        assert target.settings.volume_size == 8
        target.close()


def test_the_command_line_goes_before_the_file(tmp_path: Path, opened: Any) -> None:
    """As for every other setting."""
    with FakeDriver(tmp_path / "c.sock", storage="memory") as driver:
        file = write(tmp_path / "t.toml", f'endpoint = "{driver.endpoint}"\nrevision = "1.12"\n')
        assert str(opened(file, revision="csi-1.13").revision) == "csi-1.13"


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("endpoint = ", "Invalid value"),
        ('endpint = "/x"', "endpint"),
        ('command = "./driver --x"', "command"),
        ('endpoint = "/x"\ncommand = ["y"]', "exclude each other"),
        ("[csi]\nvolume_size = 7", "names neither an endpoint nor a command"),
        ('endpoint = "/x"\n[csi]\nno_such_key = 1', "no_such_key"),
        ('endpoint = "/x"\nrevision = "csi-2.0"', "csi-2.0"),
        ('endpoint = "http://x"', "http"),
    ],
)
def test_a_file_that_is_wrong_is_a_usage_error(tmp_path: Path, text: str, words: str) -> None:
    """A misspelt key must not be passed over."""
    with pytest.raises((BadOption, Unreachable), match=words) as raised:
        open_target(resolved("csi", write(tmp_path / "t.toml", text)))
    assert raised.type is BadOption


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    """It was meant as a file by its name."""
    with pytest.raises(BadOption, match="No such file"):
        open_target(resolved("csi", str(tmp_path / "t.toml")))


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
        assert driver.nodes[0].path in target.reproduce(call)
        target.close()


def test_a_fake_of_an_unknown_profile_is_a_usage_error() -> None:
    """It names those there are."""
    with pytest.raises(BadOption, match=r"fake:nothing: .*no-staging"):
        open_target(resolved("csi", "fake:nothing"))


def test_a_fake_that_cannot_be_opened_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither threads nor directories: settings are looked at when it already runs."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(BadOption, match="go together"):
        open_target(resolved("csi", csi__createmountpathcmd="true"))
    assert list(tmp_path.iterdir()) == []
    assert [each for each in threading.enumerate() if each.name == "refimpl-call"] == []


def test_a_driver_that_is_gone_is_lost(tmp_path: Path, opened: Any) -> None:
    """One that we did not start does not come back."""
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
