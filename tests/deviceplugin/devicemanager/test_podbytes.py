"""A core/v1 Pod as bytes, written and read without its schema."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.deviceplugin.devicemanager.podbytes import PodNote, from_bytes, to_bytes

NAMES = st.lists(st.text(max_size=200), max_size=3).map(tuple)
NOTES = st.builds(PodNote, st.text(), st.text(), st.text(), app=NAMES, init=NAMES, phase=st.text())


@given(NOTES)
def test_what_is_written_is_read(note: PodNote) -> None:
    """Lengths beyond one byte as well."""
    assert from_bytes(to_bytes(note)) == note


def test_bytes_are_those_of_a_core_v1_pod() -> None:
    """Metadata 1 with name 1, namespace 3, uid 5; spec 2 with containers 2; status 3, phase 1."""
    note = PodNote("p", "n", "u", app=("a",), phase="Running")
    meta, spec = b"\x0a\x01p\x1a\x01n\x2a\x01u", b"\x12\x03\x0a\x01a"
    status = b"\x0a\x07Running"
    assert to_bytes(note) == b"\x0a\x09" + meta + b"\x12\x05" + spec + b"\x1a\x09" + status


def test_what_else_a_pod_has_is_passed_over() -> None:
    """Numbers of all three kinds, and fields that are not asked for."""
    data = to_bytes(PodNote("p", "n", "u"))
    more = b"\x20\x96\x01" + b"\x29" + bytes(8) + b"\x35" + bytes(4) + b"\x3a\x02xy"
    assert from_bytes(data + more) == PodNote("p", "n", "u")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x0a\x09p", "cut short"),
        (b"\x0b", "kind 3"),
        (b"\xff" * 11, "without an end"),
        (b"\x0a", "without an end"),
    ],
)
def test_other_bytes_are_refused(data: bytes, reason: str) -> None:
    """With where they go wrong."""
    with pytest.raises(ValueError, match=reason):
        from_bytes(data)
