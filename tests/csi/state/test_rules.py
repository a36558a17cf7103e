"""The rules of fields, each with what it lets pass and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.csi.state import rules
from refimpl.csi.state.models import AccessMode, CapacityRange, VolumeCapability
from refimpl.csi.state.settings import DriverSettings
from refimpl.wire.status import Code, Refused

MOUNT = VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER)


@pytest.mark.parametrize(
    "text", ["a", "x" * 128, "ü" * 64, "\U0001f600" * 32, "tab\tlf\ncr\r", "../up", " ", "\u202e"]
)
def test_names_may_hold_almost_anything(text: str) -> None:
    """The ban of the specification is short; a driver must not refuse more."""
    rules.name("name", text)


@pytest.mark.parametrize(
    "text", ["", "x" * 129, "ü" * 65, "a\0", "\x08", "\x0b", "\x0c", "\x0e", "\x1f", "\x7f", "\x9f"]
)
def test_names_outside_the_rule_are_refused(text: str, refused: Any) -> None:
    """Size counts bytes; banned are control characters but tab, LF and CR."""
    with refused(Code.INVALID_ARGUMENT, "name"):
        rules.name("name", text)


@given(st.text(max_size=200))
def test_a_string_passes_iff_its_bytes_fit(text: str) -> None:
    """The short cut for short strings must agree with the rule."""
    try:
        rules.string("field", text)
    except Refused:
        assert len(text.encode()) > 128
    else:
        assert len(text.encode()) <= 128


def test_maps_and_lists_are_measured_as_a_whole(refused: Any) -> None:
    """4 KiB for all keys and values together, however long each one is."""
    rules.string_map("parameters", {"k": "v" * 4095})
    rules.string_map("parameters", {})
    rules.strings("mount_flags", ["x" * 4096])
    with refused(Code.INVALID_ARGUMENT, "4097"):
        rules.string_map("parameters", {"k": "v" * 4096})
    with refused(Code.INVALID_ARGUMENT, "mount_flags"):
        rules.strings("mount_flags", ["x" * 4096, "y"])


@pytest.mark.parametrize("path", ["/", "/a b", "/x" * 2000, "/ü", "/a..b/..c"])
def test_absolute_paths_of_any_length_pass(path: str) -> None:
    """Kubelet's paths are longer than 128 bytes."""
    rules.absolute("target_path", path)
    rules.absolute_or_empty("target_path", path)
    rules.absolute_or_empty("target_path", "")


@pytest.mark.parametrize("path", ["", "a", "./a", "/a/../b", "/a\0b", "/.."])
def test_other_paths_are_refused(path: str, refused: Any) -> None:
    """A path that climbs could leave the directory it pretends to be in."""
    with refused(Code.INVALID_ARGUMENT, "target_path"):
        rules.absolute("target_path", path)


def test_secrets_are_checked_only_where_they_are_asked_for(refused: Any) -> None:
    """A caller may send the same secrets everywhere; what nobody asked for is ignored."""
    settings = DriverSettings(secrets={"CreateVolume": {"key": "right"}})
    rules.secrets(settings, "DeleteVolume", {"key": "wrong", "more": "x"})
    rules.secrets(settings, "CreateVolume", {"key": "right", "more": "x"})
    with refused(Code.INVALID_ARGUMENT, "'key'"):
        rules.secrets(settings, "CreateVolume", {})
    with refused(Code.UNAUTHENTICATED, "'key'"):
        rules.secrets(settings, "CreateVolume", {"key": "wrong"})


def test_secrets_never_show_in_a_refusal() -> None:
    """Neither their values nor malformed keys, which may be values by mistake."""
    settings = DriverSettings(secrets={"CreateVolume": {"key": "right"}})
    for entries in ({"key": "canary"}, {"ca nary": "x"}, {"k": "canary" * 1000}):
        with pytest.raises(Refused) as caught:
            rules.secrets(settings, "CreateVolume", entries)
        assert "canary" not in str(caught.value)
        assert "ca nary" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "missing"),
        (VolumeCapability("", AccessMode.SINGLE_NODE_WRITER), "neither block nor mount"),  # type: ignore[arg-type]
        (VolumeCapability("mount", AccessMode.UNKNOWN), "access_mode"),
        (VolumeCapability("mount", MOUNT.mode, fs_type="x" * 129), "fs_type"),
        (VolumeCapability("mount", MOUNT.mode, mount_flags=("x" * 4097,)), "mount_flags"),
        (VolumeCapability("mount", MOUNT.mode, mount_group="1" * 129), "volume_mount_group"),
    ],
)
def test_malformed_capabilities_are_refused(
    value: VolumeCapability | None, message: str, refused: Any
) -> None:
    """Whatever the RPC, the message names the part that is wrong."""
    with refused(Code.INVALID_ARGUMENT, message):
        rules.capability("volume_capability", value)


@pytest.mark.parametrize("bounds", [(1, 0), (0, 1), (5, 5), (5, 6), (2**63 - 1, 0)])
def test_ranges_with_a_bound_pass(bounds: tuple[int, int]) -> None:
    """One bound is enough; equal bounds ask for exactly that size."""
    rules.capacity_range(CapacityRange(*bounds))


@pytest.mark.parametrize("bounds", [(0, 0), (-1, 0), (0, -1), (-1, 5), (6, 5)])
def test_ranges_that_contain_nothing_are_refused(bounds: tuple[int, int], refused: Any) -> None:
    """Negative, empty, or upside down."""
    with refused(Code.INVALID_ARGUMENT, "capacity_range"):
        rules.capacity_range(CapacityRange(*bounds))


def test_numbers_must_not_be_negative(refused: Any) -> None:
    """max_entries, max_results."""
    rules.not_negative("max_entries", 0)
    with refused(Code.INVALID_ARGUMENT, "max_entries is -1"):
        rules.not_negative("max_entries", -1)


@pytest.mark.parametrize(
    ("changes", "value", "message"),
    [
        ({"access_types": frozenset({"block"})}, MOUNT, "access type mount"),
        ({"modes": frozenset({AccessMode.MULTI_NODE_MULTI_WRITER})}, MOUNT, "SINGLE_NODE_WRITER"),
        ({}, VolumeCapability("mount", MOUNT.mode, fs_type="fat"), "'fat'"),
        ({}, VolumeCapability("mount", MOUNT.mode, fs_type="xfs"), None),
        ({}, MOUNT, None),
    ],
)
def test_support_is_told_with_a_reason(
    changes: dict[str, object], value: VolumeCapability, message: str | None
) -> None:
    """The RPCs differ in the code for what is not supported, not in the reason."""
    settings = DriverSettings(**changes)
    why = rules.unsupported(settings, settings.controller_modes, value)
    assert why is None if message is None else message in (why or "")


@pytest.mark.parametrize("mode", rules.COVERS)
def test_a_volume_can_be_used_as_it_was_made(mode: AccessMode) -> None:
    """And a mode never covers one that wants more nodes or more writers."""
    assert rules.covered([mode], mode)
    for other_mode in rules.COVERS[mode]:
        assert mode.multi_node or not other_mode.multi_node
        assert other_mode.read_only or not mode.read_only


def test_every_known_mode_has_its_row() -> None:
    """A mode without one could not be asked about."""
    assert set(rules.COVERS) == set(AccessMode) - {AccessMode.UNKNOWN}


def test_long_texts_of_the_caller_are_cut_in_messages() -> None:
    """A message has to fit into a log line, and must not carry control characters."""
    quote: Callable[[str], str] = rules.quoted
    assert quote("a\nb") == r"'a\nb'"
    assert len(quote("x" * 1000)) < 80
