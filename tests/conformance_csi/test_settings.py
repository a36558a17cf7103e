"""What a user says of a CSI target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.csi.interface import CSI
from conformance.csi.settings import SECRET_KEYS
from conformance.engine.targets.settings import read


def test_every_option_of_the_command_line_is_understood(tmp_path: Path) -> None:
    """None is taken from the user and then forgotten."""
    file = tmp_path / "f.yaml"
    file.write_text("")
    texts = {"map": str(file), "maps": str(file), "duration": "1s"}
    for option in CSI.options:
        value: Any = texts.get(option.reads) or [option.kind(1), *option.choices][-1]
        assert getattr(read(CSI, {}, {option.flag: value}), option.field) is not None


def test_secrets_are_one_map_a_kind_of_call(tmp_path: Path) -> None:
    """In csi-sanity's form: all is text, and what is not there is empty."""
    file = tmp_path / "s.yaml"
    file.write_text("CreateVolumeSecret: {pin: 0123, on: yes}\nDeleteVolumeSecret: {}\n")
    for given in ({"csi.secrets": str(file)}, {}):
        table = {} if given else {"secrets": str(file)}
        chosen = read(CSI, table, given)
        assert chosen.secrets_for("CreateVolume") == {"pin": "0123", "on": "yes"}
        assert chosen.secrets_for("DeleteVolume") == {}
        assert chosen.secrets_for("NodeStageVolume") == {}
        assert chosen.secrets_for("NodeGetInfo") == {}


def test_each_kind_of_call_has_a_key_of_its_own() -> None:
    """Two calls must not share secrets by accident."""
    assert len(set(SECRET_KEYS.values())) == len(SECRET_KEYS)
