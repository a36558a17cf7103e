"""Header blocks: names and values, compressed with one zlib stream a direction (SPDY/3, 2.6.10)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence

from refimpl.streaming.spdy.errors import Broken

__all__ = ["DICTIONARY", "Compressor", "Decompressor", "Headers"]

Headers = Mapping[str, Sequence[str]]
"""Lower-case names; each with one value or several."""

_WORDS = """
    options head post put delete trace accept accept-charset accept-encoding accept-language
    accept-ranges age allow authorization cache-control connection content-base content-encoding
    content-language content-length content-location content-md5 content-range content-type date
    etag expect expires from host if-match if-modified-since if-none-match if-range
    if-unmodified-since last-modified location max-forwards pragma proxy-authenticate
    proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade
    user-agent vary via warning www-authenticate method get status
"""
_NAMES = (
    *_WORDS.split(),
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
)
_CODES = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
)
_PHRASES = (
    "203 Non-Authoritative Information",
    "204 No Content",
    "301 Moved Permanently",
    "400 Bad Request",
    "401 Unauthorized",
    "403 Forbidden",
    "404 Not Found",
    "500 Internal Server Error",
    "501 Not Implemented",
    "503 Service Unavailable",
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00",
    " Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT",
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,",
    "text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch",
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
)

DICTIONARY = b"".join(
    [
        *(struct.pack(">I", len(name)) + name.encode() for name in _NAMES),
        *(text.encode() for text in (_CODES, *_PHRASES)),
    ]
)
"""What both sides know beforehand: 1,423 bytes, Adler-32 0xE3C6A7C2."""

_MOST_HEADERS = 1_000
_LONGEST_FIELD = 1 << 20
_LARGEST_BLOCK = 1 << 24
_UINT = struct.Struct(">I")


class Compressor:
    """The sending side of a connection; blocks have to leave in the order they were made."""

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, 9, 0, DICTIONARY)

    def compress(self, headers: Headers) -> bytes:
        """The block of these headers."""
        plain = [_UINT.pack(len(headers))]
        for name, values in headers.items():
            for text in (name.lower(), "\0".join(values)):
                encoded = text.encode()
                plain += [_UINT.pack(len(encoded)), encoded]
        return self._zlib.compress(b"".join(plain)) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class Decompressor:
    """The receiving side of a connection: every block has to pass through it, wanted or not."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS, DICTIONARY)

    def decompress(self, block: bytes) -> dict[str, tuple[str, ...]]:
        """The headers; raises Broken for what is no zlib, too large, or no list of pairs."""
        try:
            plain = self._zlib.decompress(block, _LARGEST_BLOCK)
        except zlib.error as error:
            raise Broken(
                f"a header block is not zlib with the dictionary of SPDY/3: {error}"
            ) from None
        if self._zlib.unconsumed_tail:
            raise Broken(f"a header block is larger than {_LARGEST_BLOCK} bytes")
        return _parse(plain)


def _parse(plain: bytes) -> dict[str, tuple[str, ...]]:
    """Raises Broken."""
    fields = _Fields(plain)
    count = fields.number()
    if count > _MOST_HEADERS:
        raise Broken(f"{count} headers in one block: {_MOST_HEADERS} are the most")
    headers: dict[str, tuple[str, ...]] = {}
    for _ in range(count):
        name, value = fields.text(), fields.text()
        if not name or name != name.lower() or name in headers:
            raise Broken(f"header name {name!r} is empty, not lower case, or there twice")
        headers[name] = tuple(value.split("\0"))
    fields.end()
    return headers


class _Fields:
    """Reads length-prefixed texts; raises Broken at what is too short or too long."""

    def __init__(self, plain: bytes) -> None:
        self._plain, self._at = plain, 0

    def number(self) -> int:
        return _UINT.unpack(self._take(_UINT.size))[0]  # type: ignore[no-any-return]

    def text(self) -> str:
        length = self.number()
        if length > _LONGEST_FIELD:
            raise Broken(f"a header field of {length} bytes: {_LONGEST_FIELD} are the most")
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise Broken("a header field is not UTF-8") from None

    def end(self) -> None:
        if left := len(self._plain) - self._at:
            raise Broken(f"a header block goes on for {left} bytes after its last pair")

    def _take(self, length: int) -> bytes:
        piece = self._plain[self._at : self._at + length]
        if len(piece) < length:
            raise Broken("a header block ends in the middle of a field")
        self._at += length
        return piece
