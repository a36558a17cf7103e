"""A JSON reader that knows where everything stands and never recurses (RFC 8259).

The fast path is the scanner of the standard library; this one answers where that one cannot:
positions, the exact defect of a broken text, what is odd about a sound one, deep nesting.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, NoReturn

import attrs

from refimpl.documents.document import DEEPEST, DocumentError, LineIndex, Note, Pointer, ValueNode
from refimpl.documents.numbers import Unrepresentable, number, oddity

SPACE = re.compile(r"[ \t\n\r]*")
STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*)*"')
WORD = re.compile(r"[^ \t\n\r{}\[\]:,\"]+")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
CONSTANTS = {"true": True, "false": False, "null": None}
NOT_FINITE = {"NaN", "Infinity", "-Infinity"}
NOTES_KEPT = 1000


@attrs.define
class Frame:
    """A container whose end has not been seen."""

    value: dict[str, Any] | list[Any]
    node: ValueNode
    closer: str
    step: str | int = 0


class JsonScanner:
    """Reads one text. `read` raises DocumentError; afterwards value, root and notes are there."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.lines = LineIndex(text)
        self.notes: list[Note] = []
        self.value: Any = None
        self.root = ValueNode(0, 0)
        self._open: list[Frame] = []
        self._at = 0

    def read(self) -> JsonScanner:
        """Reads the whole text; returns itself."""
        if self._peek() == "":
            self.fail(0, "the document is empty", "a JSON value was expected")
        self._value(self._at)
        while self._open:
            self._member(self._open[-1])
        if self._peek():
            self._stray(
                "there is more text after the end of the document",
                "keep one JSON value per file or stream",
            )
        return self

    def fail(self, offset: int, what: str, hint: str) -> NoReturn:
        """Raises DocumentError for the character at `offset`."""
        line, column = self.lines.place(offset)
        raise DocumentError(self.name, line, column, what, hint)

    def _peek(self) -> str:
        """The next character that is not space, "" at the end; moves there."""
        match = SPACE.match(self.text, self._at)
        assert match is not None
        self._at = match.end()
        return self.text[self._at : self._at + 1]

    def _member(self, frame: Frame) -> None:
        """One more member of the innermost open container, or its end."""
        following = self._peek()
        if following == frame.closer:
            self._at += 1
            self._open.pop()
            return
        if frame.value:
            self._comma(following, frame)
        if isinstance(frame.value, dict):
            self._key(frame)
        else:
            frame.step = len(frame.value)
            self._value(self._at)

    def _comma(self, following: str, frame: Frame) -> None:
        if following != ",":
            self._stray(
                f'"," or "{frame.closer}" was expected here', "separate members with a comma"
            )
        comma = self._at
        self._at += 1
        if self._peek() == frame.closer:
            self.fail(comma, "a comma before the closing bracket", "remove the trailing comma")

    def _key(self, frame: Frame) -> None:
        """A member's name and the colon, then its value."""
        assert isinstance(frame.value, dict)
        if self._peek() != '"':
            self._stray("a member name in double quotes was expected here", "quote the name")
        start = self._at
        frame.step = name = self._string()
        if name in frame.value:
            text = f'member "{name}" is given more than once; the last one counts here'
            self._note("duplicate-key", self._pointer(), start, text)
        if self._peek() != ":":
            self._stray(f'":" was expected after the member name "{name}"', "add the colon")
        self._at += 1
        self._value(start)

    def _value(self, key: int) -> None:
        """One value; a container is left open."""
        first = self._peek()
        node = ValueNode(self._at, key if self._open and self._open[-1].closer == "}" else self._at)
        if first == "{" or first == "[":
            if len(self._open) >= DEEPEST:
                problem = f"nested deeper than {DEEPEST} levels"
                self.fail(self._at, problem, "no configuration needs this: flatten it")
            opened = Frame({} if first == "{" else [], node, "}" if first == "{" else "]")
            self._at += 1
            self._attach(opened.value, node)
            self._open.append(opened)
        elif first == '"':
            self._attach(self._string(), node)
        else:
            self._attach(self._word(), node)

    def _attach(self, value: Any, node: ValueNode) -> None:
        if not self._open:
            self.value, self.root = value, node
            return
        frame = self._open[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        else:
            frame.value[str(frame.step)] = value
        frame.node.members[frame.step] = node

    def _string(self) -> str:
        """The string that starts here."""
        match = STRING.match(self.text, self._at)
        if match is None:
            self._broken_string()
        start, self._at = self._at, match.end()
        value: str = json.loads(match.group())
        try:
            value.encode()
        except UnicodeEncodeError:
            problem = "half of a surrogate pair in a string"
            self.fail(start, problem, r"write the character itself or both \u escapes")
        return value

    def _broken_string(self) -> NoReturn:
        """Says why no string could be read here."""
        index = self._at + 1
        while index < len(self.text) and self.text[index] != '"':
            if self.text[index] < " ":
                break
            if self.text[index] == "\\":
                if not STRING.match(f'"{self.text[index : index + 2]}"') and not STRING.match(
                    f'"{self.text[index : index + 6]}"'
                ):
                    self.fail(
                        index,
                        "an unknown escape in a string",
                        r"known are \" \\ \/ \b \f \n \r \t \uXXXX",
                    )
                index += 1
            index += 1
        if index < len(self.text) and self.text[index] != "\n":
            problem = f"a control character (U+{ord(self.text[index]):04X}) in a string"
            self.fail(index, problem, r"escape it, for example as \t")
        self.fail(self._at, "a string that does not end on its line", "add the closing quote")

    def _word(self) -> bool | int | Decimal | None:
        """A constant or a number."""
        match = WORD.match(self.text, self._at)
        word = match.group() if match else ""
        if word in CONSTANTS:
            self._at += len(word)
            return CONSTANTS[word]
        if not NUMBER.fullmatch(word):
            self._stray("a value was expected here", "write a JSON value")
        start, self._at = self._at, self._at + len(word)
        try:
            value = number(word)
        except Unrepresentable as error:
            self.fail(start, str(error), "write a number other readers can hold, or a string")
        text = oddity(word, value)
        if text:
            self._note("number", self._pointer(), start, text)
        return value

    def _pointer(self) -> Pointer:
        return tuple(frame.step for frame in self._open)

    def _note(self, kind: str, pointer: Pointer, offset: int, text: str) -> None:
        if len(self.notes) < NOTES_KEPT:
            self.notes.append(Note(kind, pointer, *self.lines.place(offset), text))

    def _stray(self, what: str, hint: str) -> NoReturn:
        """Something else stands here than `what`; says so in the terms of what it looks like."""
        ahead = self.text[self._at : self._at + 40]
        match = WORD.match(ahead)
        word = match.group() if match else ahead[:1]
        if not ahead:
            self.fail(self._at, f"the document ends too early: {what}", "close what was opened")
        if ahead.startswith(("//", "/*", "#")):
            self.fail(self._at, "a comment", "JSON has none: remove it")
        if word in NOT_FINITE:
            self.fail(self._at, f"{word} is not a JSON number", "write a finite number or null")
        if ahead.startswith("'"):
            self.fail(self._at, "a single quote", "JSON strings stand in double quotes")
        if word in ("True", "False", "None"):
            self.fail(self._at, f"{word} is not JSON", "write true, false or null")
        self.fail(self._at, f"{what}, found {word!r}", hint)
