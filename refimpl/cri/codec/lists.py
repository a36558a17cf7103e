"""Items of long lists as bytes: what never changes of one is encoded once.

A list of ten thousand is asked for each second. To copy messages into it one by one takes five
times as long as to join bytes; and of a field that stands twice in a message the last one counts,
so that what changes, the state, is put behind the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from refimpl.wire import varint

__all__ = ["Item", "Listing", "Shown"]

S = TypeVar("S", bound="Shown")

_VARINT, _BYTES = 0, 2


class Item:
    """One item: a field of the list, and in it the field `state`."""

    def __init__(self, field: FieldDescriptor, message: Message) -> None:
        state = message.DESCRIPTOR.fields_by_name["state"].number
        content = message.SerializeToString()
        length = varint.encoded(len(content) + len(varint.encoded(state << 3)) + 1)
        self._head = varint.encoded(field.number << 3 | _BYTES) + length + content
        self._head += varint.encoded(state << 3 | _VARINT)

    def bytes(self, state: int) -> bytes:
        """The item in that state, a small number."""
        return self._head + _STATES[state]


class Shown(Protocol):
    """A record that lists show."""

    @property
    def state(self) -> int:
        """The number of its state in messages."""

    @property
    def shown(self) -> dict[str, Any]:
        """What was made of it as it is: empty after each change."""

    @property
    def kept(self) -> dict[str, Any]:
        """What was made of its thing, for as long as that is there."""


class Listing(Generic[S]):
    """The items of one kind of list. field: the list in its message; encode: makes an item."""

    def __init__(self, field: FieldDescriptor, encode: Callable[[S], Message]) -> None:
        self._field, self._encode = field, encode

    def prepared(self, record: S) -> Item:
        """Its item, ready for any list."""
        item: Item | None = record.kept.get("item")
        if item is None:
            item = record.kept["item"] = Item(self._field, self._encode(record))
        return item

    def joined(self, records: Iterable[S]) -> bytes:
        """The bytes of a list of them, of which each was prepared, or is now."""
        return b"".join(each.shown.get("entry") or self._entry(each) for each in records)

    def _entry(self, record: S) -> bytes:
        entry = record.shown["entry"] = self.prepared(record).bytes(record.state)
        return entry


_STATES = [bytes([state]) for state in range(0x80)]
