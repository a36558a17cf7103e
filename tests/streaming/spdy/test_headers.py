"""Header blocks against bytes that other programs make."""

from __future__ import annotations

import hashlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.streaming.spdy import Broken, Session
from refimpl.streaming.spdy.headers import DICTIONARY, Compressor, Decompressor

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True)
VALUES = st.lists(
    st.text(max_size=20).filter(lambda text: "\0" not in text), min_size=1, max_size=3
)


def block(plain: bytes) -> bytes:
    """A block with these bytes in it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9, 0, DICTIONARY)
    return packer.compress(plain) + packer.flush(zlib.Z_SYNC_FLUSH)


def test_the_dictionary_is_the_one_of_the_specification() -> None:
    assert len(DICTIONARY) == 1423
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2
    digest = hashlib.sha256(DICTIONARY).hexdigest()
    assert digest.startswith("51d27341")
    assert digest.endswith("498407f02")


def test_the_first_block_and_the_next_are_those_that_zlib_makes() -> None:
    compressor = Compressor()
    first = compressor.compress({"streamtype": ("error",)})
    assert first.hex() == "78f9e3c6a7c202a62346703a2b294a4dcc851625aca9a08006000000ffff"
    assert (
        compressor.compress({"streamtype": ("stdout",)}).hex() == "c22a054ccc29f9a52500000000ffff"
    )


def test_a_whole_frame_that_opens_a_stream() -> None:
    client = Session(client=True)
    client.open({"streamtype": ("error",)})
    assert client.take().hex().startswith("80030001000000280000000100000000000078f9")


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=5), min_size=1, max_size=5))
def test_what_one_side_compresses_the_other_reads(blocks: list[dict[str, list[str]]]) -> None:
    compressor, decompressor = Compressor(), Decompressor()
    for headers in blocks:
        read = decompressor.decompress(compressor.compress(headers))
        assert read == {name: tuple(values) for name, values in headers.items()}


@pytest.mark.parametrize(
    ("plain", "reason"),
    [
        (b"\0\0\0\1", "in the middle"),
        (b"\0\0\0\1\0\0\0\1A\0\0\0\0", "lower case"),
        (b"\0\0\0\1\0\0\0\0\0\0\0\0", "empty"),
        (b"\0\0\0\2" + b"\0\0\0\1a\0\0\0\0" * 2, "there twice"),
        (b"\0\0\0\0x", "goes on for 1 bytes"),
        (b"\0\0\0\1\0\0\0\1\xff\0\0\0\0", "not UTF-8"),
        (b"\0\0\x10\0", "4096 headers"),
        (b"\0\0\0\1\x7f\0\0\0", "2130706432 bytes"),
    ],
)
def test_a_block_that_is_no_list_of_pairs_is_broken(plain: bytes, reason: str) -> None:
    with pytest.raises(Broken, match=reason):
        Decompressor().decompress(block(plain))


def test_a_block_that_is_no_zlib_is_broken() -> None:
    with pytest.raises(Broken, match="not zlib with the dictionary"):
        Decompressor().decompress(b"error")


def test_a_block_that_grows_beyond_all_bounds_is_broken() -> None:
    with pytest.raises(Broken, match="larger than"):
        Decompressor().decompress(block(bytes(1 << 25)))
