"""What a reader returns: the value, what was odd about its text, and where each part stands."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any

import attrs

Pointer = tuple[str | int, ...]

# Go's reader gives up at ten thousand; a document of ours that needs more than this is an attack.
DEEPEST = 1000


class DocumentError(ValueError):
    """A text that is no document. `line` and `column` count from 1, columns in characters;
    `what` is the defect, `hint` what to do about it; str() has all of it.
    """

    def __init__(self, name: str, line: int, column: int, what: str, hint: str) -> None:
        place = f"{name}:{line}:{column}" if name else f"line {line}, column {column}"
        super().__init__(f"{place}: {what}; {hint}")
        self.name, self.line, self.column = name, line, column
        self.what, self.hint = what, hint


@attrs.frozen
class Note:
    """Something a reader tolerates although other readers may see another value.

    `kind` is "duplicate-key", "byte-order-mark" or "number"; `pointer` leads to the member.
    """

    kind: str
    pointer: Pointer
    line: int
    column: int
    text: str


@attrs.frozen
class Document:
    """A document read: `value` holds dict, list, str, int, Decimal, bool and None only."""

    value: Any
    notes: tuple[Note, ...] = ()
    _locate: Callable[[Pointer, bool], tuple[int, int]] = attrs.field(
        default=lambda _pointer, _key: (1, 1), repr=False, eq=False
    )

    def position(self, pointer: Pointer) -> tuple[int, int]:
        """(line, column) of the value at `pointer`, both from 1; where the pointer leads
        nowhere, of the deepest part of it that exists.
        """
        return self._locate(pointer, False)

    def key_position(self, pointer: Pointer) -> tuple[int, int]:
        """As `position`, but of the member's name where the pointer ends in one."""
        return self._locate(pointer, True)


class LineIndex:
    """Turns an offset into a text into (line, column)."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        newline = text.find("\n")
        while newline >= 0:
            self._starts.append(newline + 1)
            newline = text.find("\n", newline + 1)

    def place(self, offset: int) -> tuple[int, int]:
        """(line, column) of the character at `offset`, both from 1."""
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


@attrs.define
class ValueNode:
    """Where a value stands: offset of the value, of its key (or of itself), its members."""

    start: int
    key: int
    members: dict[str | int, ValueNode] = attrs.field(factory=dict)

    def find(self, pointer: Pointer) -> ValueNode:
        """The node at `pointer`, or the deepest one on the way that exists."""
        node = self
        for part in pointer:
            below = node.members.get(part)
            if below is None:
                break
            node = below
        return node
