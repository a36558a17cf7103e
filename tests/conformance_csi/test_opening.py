"""How a driver is found and opened."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from conformance.csi.opening import open_target
from conformance.engine.options import BadOption
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
