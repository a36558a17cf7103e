"""Settings from a target file and from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.cdi.interface import CDI
from conformance.cni.interface import CNI
from conformance.csi.interface import CSI
from conformance.deviceplugin.interface import DEVICEPLUGIN
from conformance.engine.interface import Interface
from conformance.engine.options import BadOption
from conformance.engine.targets.settings import read, seconds


def test_an_option_goes_before_the_target_file() -> None:
    """What is typed now counts more than what was written once."""
    table = {"volume_size": 1, "access_type": "block"}
    settings = read(CSI, table, {"csi.testvolumesize": 2})
    assert (settings.volume_size, settings.access_type) == (2, "block")


def test_a_shared_option_is_read_by_each_interface_that_has_it() -> None:
    """--policy is of plugins and of CDI."""
    for interface in (CNI, CDI):
        assert read(interface, {"policy": "strict"}, {"policy": "practice"}).policy == "practice"


def test_an_option_of_another_interface_is_refused() -> None:
    """Passed over, it would look as if it had had an effect."""
    with pytest.raises(BadOption, match="--cni-path: an option of cni, not of csi"):
        read(CSI, {}, {"cni-path": "/opt/cni/bin"})
    with pytest.raises(BadOption, match="--cni-pth: there is no such option"):
        read(CSI, {}, {"cni-pth": "/opt/cni/bin"})


@pytest.mark.parametrize(
    ("interface", "table"),
    [
        (CDI, {"imag": "a"}),
        (DEVICEPLUGIN, {"hooks": {"explode": []}}),
        (DEVICEPLUGIN, {"illusion": "often"}),
        (DEVICEPLUGIN, {"x": 1}),
    ],
)
def test_what_is_not_known_is_refused(interface: Interface, table: dict[str, object]) -> None:
    """With the name of what it is in."""
    with pytest.raises(BadOption, match=f"settings of {interface.name}: "):
        read(interface, table, {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("CreateVolumeSecret: [canary]", "one map of text for each kind of call"),
        ("CreateVolumeSecret: canary", "one map of text for each kind of call"),
        ("CreateVolumeSecret: {password: 'canary", "not YAML, line"),
        ("a: b: canary", "not YAML, line 1"),
        ("CreateVolumeSecret: {password: *canary}", "not YAML, line 1"),
        ("\x00canary", "not YAML"),
    ],
)
def test_a_wrong_file_is_named_without_its_content(
    tmp_path: Path, text: str, sentence: str
) -> None:
    """The message ends up in the log of a CI job, and the file holds secrets."""
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(BadOption, match=sentence) as raised:
        read(CSI, {}, {"csi.secrets": str(file)})
    assert f"--csi.secrets {file}" in str(raised.value)
    assert "canary" not in str(raised.value)
    assert raised.value.__cause__ is None or "canary" not in str(raised.value.__cause__)


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        ({"no_such_key": 1}, {}, "no_such_key"),
        ({"access_mode": "ANY"}, {}, "access_mode"),
        ({"hooks": {"break_all": []}}, {}, "break_all"),
        ({"volume_size": "large"}, {}, "volume_size"),
        ({}, {"csi.testvolumeparameters": "/nowhere.yaml"}, "--csi.testvolumeparameters /nowhere"),
        ({"parameters": "/nowhere.yaml"}, {}, "parameters /nowhere.yaml"),
        ({}, {"csi.createpathcmdtimeout": "10"}, "write a duration"),
    ],
)
def test_what_cannot_be_used_is_named(table: Any, options: Any, sentence: str) -> None:
    """The key of the file, or the option as it was typed."""
    with pytest.raises(BadOption, match=sentence):
        read(CSI, table, options)


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
