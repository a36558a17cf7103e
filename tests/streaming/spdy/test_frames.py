"""Frames and their bytes."""

from __future__ import annotations

import pytest

from refimpl.streaming.spdy import Broken
from refimpl.streaming.spdy.frames import FIN, LARGEST, Control, DataFrame, Frames, Kind


def test_control_and_data_frames_have_the_bytes_of_the_specification() -> None:
    assert Control(Kind.PING, 0, b"\0\0\0\1").encode().hex() == "800300060000000400000001"
    assert DataFrame(5, FIN, b"hi").encode().hex() == "00000005010000026869"


def test_frames_are_found_wherever_the_pieces_end() -> None:
    sent = [DataFrame(1, 0, b"abc"), Control(Kind.PING, 0, b"\0\0\0\1"), DataFrame(3, FIN, b"")]
    received = b"".join(frame.encode() for frame in sent)
    frames = Frames()
    heard = [frame for byte in received for frame in frames.feed(bytes([byte]))]
    assert heard == sent
    assert frames.partial == 0
    assert list(Frames().feed(received)) == sent


def test_another_version_is_told_at_its_first_frame() -> None:
    with pytest.raises(Broken, match="no frame of SPDY"):
        list(Frames().feed(b"\x80\x02\0\1\0\0\0\0"))
    with pytest.raises(Broken, match="no frame of SPDY"):
        list(Frames().feed(b"\xff" * 8))


def test_a_frame_that_is_too_long_is_not_made() -> None:
    with pytest.raises(ValueError, match="are the most"):
        DataFrame(1, 0, bytes(LARGEST + 1)).encode()
