"""Pages and tokens, the same for every list (CSI 1.13 ListVolumes: starting_token, max_entries).

A token names the position to go on at. Who reads all pages sees what stays in the list exactly
once, whatever is created or deleted meanwhile; a page costs what it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Generic, TypeVar
from zlib import crc32

import attrs

from refimpl.csi.state.order import Order
from refimpl.csi.state.rules import not_negative, quoted, string
from refimpl.csi.state.settings import DriverSettings
from refimpl.wire.status import Code, Refused

T = TypeVar("T")
_OPAQUE = re.compile(r"[a-z]+-(?P<position>[0-9a-f]{1,15})-(?P<generation>[0-9a-f]*)-[0-9a-f]{8}")
_INDEX = re.compile(r"[0-9]{1,15}")


@attrs.frozen
class Page(Generic[T]):
    """Some entries of a list; `next_token` is "" behind the last one."""

    entries: list[T]
    next_token: str = ""


@attrs.frozen
class Book(Generic[T]):
    """A list that can be paged through. `label` and `salt` go into its tokens, so that those of
    another list or of an earlier run are recognised as foreign."""

    label: str
    settings: DriverSettings
    salt: str
    record: Callable[[str], T]
    weigh: Callable[[T], int]
    """Bytes of an entry on the wire, roughly."""

    def page(self, order: Order, token: str, max_entries: int) -> Page[T]:
        """The entries from `token` on, at most `max_entries` where that is not 0.

        INVALID_ARGUMENT for a negative number, ABORTED for a token this list never gave."""
        not_negative("max_entries", max_entries)
        string("starting_token", token)
        start = self._position(order, token) if token else 0
        limits = [limit for limit in (max_entries, self.settings.page_entries) if limit]
        most, room = min(limits, default=0), self.settings.page_bytes
        entries: list[T] = []
        for position, key in order.walk(start):
            entry = self.record(key)
            room -= self.weigh(entry)
            if entries and (len(entries) == most or room < 0):
                return Page(entries, self._token(order, position))
            entries.append(entry)
        return Page(entries)

    def _token(self, order: Order, position: int) -> str:
        if self.settings.tokens == "index":
            return str(position)
        generation = f"{order.generation:x}" if self.settings.tokens == "generation" else ""
        body = f"{self.label}-{position:x}-{generation}"
        return f"{body}-{crc32((self.salt + body).encode()):08x}"

    def _position(self, order: Order, token: str) -> int:
        if self.settings.tokens == "index":
            if _INDEX.fullmatch(token) and int(token) < max(order.next_position, 1):
                return int(token)
            raise self._foreign(token)
        match = _OPAQUE.fullmatch(token)
        position = int(match["position"], 16) if match else 0
        if not match or token != self._token(order, position):
            raise self._foreign(token)
        return position

    def _foreign(self, token: str) -> Refused:
        return Refused(
            Code.ABORTED,
            f"starting_token {quoted(token)} is none that this list gave, or no longer valid;"
            " start again with an empty token",
        )
