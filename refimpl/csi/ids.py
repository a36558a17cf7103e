"""Ids a driver gives to what it makes, in the styles found among drivers (at most 128 bytes)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from urllib.parse import quote

from refimpl.csi.state.ports import IdKind, Ids

_LIMIT = 128
# Of its own, so that a test that seeds the common one does not make ids come again.
_random = random.Random()


def unique(_kind: IdKind, _name: str) -> str:
    """A random id, from which nothing can be read."""
    digits = f"{_random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def named(kind: IdKind, name: str) -> str:
    """The name with a prefix, escaped; a long one is cut and made unique by a hash. The same name
    gives the same id, also after the object was deleted."""
    plain = f"{kind}-{quote(name, safe='')}"
    if len(plain) <= _LIMIT:
        return plain
    digest = _digest(kind, name)[:32]
    return f"{plain[: _LIMIT - 33]}-{digest}"


def hashed(kind: IdKind, name: str) -> str:
    """A hash of the name."""
    return f"{kind[:4]}-{_digest(kind, name)}"


def longest(kind: IdKind, _name: str) -> str:
    """A random id of the full 128 bytes."""
    return f"{kind}-{_random.getrandbits(128):032x}-".ljust(_LIMIT, "x")


def _digest(kind: str, name: str) -> str:
    return hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()


STYLES: Mapping[str, Callable[[IdKind, str], str]] = {
    "uuid": unique,
    "name": named,
    "hash": hashed,
    "long": longest,
}


def style(name: str) -> Ids:
    """The style of that name, as in DriverSettings.ids."""
    return STYLES[name]
