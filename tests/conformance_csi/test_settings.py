"""What a user says of a CSI target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.csi.settings import GIB, SECRET_KEYS, CsiSettings, seconds, settings
from conformance.engine.options import BadOption
from refimpl.cli.csi_options import OPTIONS


def test_every_option_of_the_command_line_is_understood(tmp_path: Path) -> None:
    """None is taken from the user and then forgotten."""
    file = tmp_path / "f.yaml"
    file.write_text("")
    for name, (kind, _) in OPTIONS.items():
        value: Any = "1"
        if "secrets" in name or "parameters" in name:
            value = str(file)
        elif name.endswith("timeout"):
            value = "1s"
        elif name == "testvolumeaccesstype":
            value = "block"
        elif kind is int or kind is bool:
            value = kind(1)
        assert settings({}, {f"csi_{name}": value})


def test_an_option_goes_before_the_target_file() -> None:
    """What is typed now counts more than what was written once."""
    table = {"volume_size": 1, "access_type": "block"}
    chosen = settings(table, {"csi_testvolumesize": 2})
    assert (chosen.volume_size, chosen.access_type) == (2, "block")


def test_a_volume_grows_by_a_gib_unless_told() -> None:
    """From whatever size it has."""
    assert CsiSettings(volume_size=5).expand_size == 5 + GIB
    assert CsiSettings(volume_size=5, expand_size=6).expand_size == 6


def test_secrets_are_one_map_a_kind_of_call(tmp_path: Path) -> None:
    """In csi-sanity's form: all is text, and what is not there is empty."""
    file = tmp_path / "s.yaml"
    file.write_text("CreateVolumeSecret: {pin: 0123, on: yes}\nDeleteVolumeSecret: {}\n")
    for given in ({"csi_secrets": str(file)}, {}):
        table = {} if given else {"secrets": str(file)}
        chosen = settings(table, given)
        assert chosen.secrets_for("CreateVolume") == {"pin": "0123", "on": "yes"}
        assert chosen.secrets_for("DeleteVolume") == {}
        assert chosen.secrets_for("NodeStageVolume") == {}
        assert chosen.secrets_for("NodeGetInfo") == {}


def test_each_kind_of_call_has_a_key_of_its_own() -> None:
    """Two calls must not share secrets by accident."""
    assert len(set(SECRET_KEYS.values())) == len(SECRET_KEYS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CreateVolumeSecret: [canary]", "one map of text for each kind of call"),
        ("CreateVolumeSecret: canary", "one map of text for each kind of call"),
        ("CreateVolumeSecret: {password: 'canary", "not YAML, line"),
        ("a: b: canary", "not YAML, line 1"),
        ("CreateVolumeSecret: {password: *canary}", "not YAML, line 1"),
        ("\x00canary", "not YAML"),
    ],
)
def test_a_wrong_file_is_named_without_its_content(tmp_path: Path, text: str, said: str) -> None:
    """The message ends up in the log of a CI job, and the file holds secrets."""
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(BadOption, match=said) as raised:
        settings({}, {"csi_secrets": str(file)})
    assert f"--csi.secrets {file}" in str(raised.value)
    assert "canary" not in str(raised.value)
    assert raised.value.__cause__ is None or "canary" not in str(raised.value.__cause__)


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        ({"no_such_key": 1}, {}, "no_such_key"),
        ({"access_mode": "ANY"}, {}, "access_mode"),
        ({"hooks": {"break_all": []}}, {}, "break_all"),
        ({"volume_size": "large"}, {}, "volume_size"),
        ({}, {"csi_testvolumeparameters": "/nowhere.yaml"}, "--csi.testvolumeparameters /nowhere"),
        ({"parameters": "/nowhere.yaml"}, {}, "parameters /nowhere.yaml"),
        ({}, {"csi_createpathcmdtimeout": "10"}, "write a duration"),
    ],
)
def test_what_cannot_be_used_is_named(table: Any, options: Any, said: str) -> None:
    """The key of the file, or the option as it was typed."""
    with pytest.raises(BadOption, match=said):
        settings(table, options)


@pytest.mark.parametrize(
    ("text", "value"),
    [("10s", 10), ("1m30s", 90), ("500ms", 0.5), ("1.5h", 5400), ("1h1m1s1ms", 3661.001)],
)
def test_durations_are_those_of_go(text: str, value: float) -> None:
    """Scripts written for csi-sanity go on working."""
    assert seconds("--x", text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "10", "s", "1d", "-1s", "1s x", "1 s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """With the form that is right."""
    with pytest.raises(BadOption, match=r"--x .*10s or 1m30s"):
        seconds("--x", text)
