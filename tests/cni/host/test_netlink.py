"""Messages of netlink are packed and taken apart as the kernel lays them out."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cni.host import netlink
from refimpl.cni.host.netlink import Kind, Message, attributes, dump


def packed(members: dict[int, bytes]) -> bytes:
    return b"".join(
        struct.pack("=HH", len(data) + 4, kind) + data + bytes(-len(data) % 4)
        for kind, data in members.items()
    )


@given(st.dictionaries(st.integers(0, 0x3FFF), st.binary(max_size=40)))
def test_attributes_of_any_length_come_back(members: dict[int, bytes]) -> None:
    """Each is padded to four bytes, and its length does not count the padding."""
    assert attributes(packed(members)) == members


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail_or_hang(data: bytes) -> None:
    """A kernel newer than this code may say things it does not know."""
    assert all(kind <= 0x3FFF for kind in attributes(data))


def test_the_nested_flag_is_no_part_of_the_number() -> None:
    """Newer kernels set it on nests where older ones did not."""
    assert attributes(packed({0x8000 | 18: b"nest"})) == {18: b"nest"}


def test_numbers_and_texts_of_missing_attributes_are_empty() -> None:
    """What was not set is not there, which is not an error."""
    message = Message((), {1: b"\x07\0\0\0", 2: b"eth0\0"})
    assert (message.number(1), message.text(2)) == (7, "eth0")
    assert (message.number(9), message.text(9)) == (0, "")


def test_the_loopback_is_in_every_dump_of_links() -> None:
    """Reading needs no right, so this holds for everyone everywhere."""
    assert "lo" in {message.text(3) for message in dump(Kind.LINKS)}


def header(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body


class Answering:
    """Stands for a socket whose kernel gives these answers."""

    def __init__(self, answers: Iterator[bytes]) -> None:
        self.answers = answers

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *error: object) -> None: ...

    def settimeout(self, seconds: float) -> None: ...

    def send(self, data: bytes) -> None: ...

    def recv(self, size: int) -> bytes:
        return next(self.answers)


LINK = header(16, 0, struct.pack("=BxHiII", 0, 1, 5, 1, 0) + packed({3: b"eth0\0"}))
DONE = header(3, 0, bytes(4))


def answers(monkeypatch: pytest.MonkeyPatch, *data: bytes) -> None:
    given_ones = iter(data)
    monkeypatch.setattr(netlink.socket, "socket", lambda *_: Answering(given_ones))


def test_a_dump_that_changes_on_the_way_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the old and half of the new state would be a state that never was."""
    torn = header(16, 0x10, bytes(16))
    answers(monkeypatch, LINK, torn, LINK, DONE)
    assert [message.text(3) for message in dump(Kind.LINKS)] == ["eth0"]


def test_a_dump_that_never_holds_still_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case may wait for a condition, but not without an end."""
    answers(monkeypatch, *[header(16, 0x10, bytes(16))] * 50)
    with pytest.raises(OSError, match="links changed during each of 20 readings"):
        dump(Kind.LINKS)


def test_a_refusal_of_the_kernel_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was asked for in it."""
    answers(monkeypatch, header(2, 0, struct.pack("=i", -1)))
    with pytest.raises(PermissionError, match="reading rules was refused"):
        dump(Kind.RULES)
