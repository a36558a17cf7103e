"""YAML read strictly: plain types, one document, no duplicate keys, aliases within bounds.

Built from the parser's events on a list of open containers, so that neither depth nor aliases cost
more than they are allowed; every value knows its line and column.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

import attrs
import yaml

from refimpl.documents.document import (
    DEEPEST,
    Document,
    DocumentError,
    LineIndex,
    Note,
    Pointer,
    ValueNode,
)
from refimpl.documents.json import decoded
from refimpl.documents.numbers import shown
from refimpl.documents.scalars import Scalar, resolve

__all__ = ["Document", "DocumentError", "Note", "YamlDocument", "parse"]

# What aliases may add to a document, in values: a few nested ones stand for billions.
EXPANSION = 20_000
NOTES_KEPT = 1000
TAGS = "tag:yaml.org,2002:"
MERGE = "<<"

# libyaml where PyYAML was built with it: ten times as fast, the same events.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@attrs.frozen
class YamlDocument(Document):
    """A document of YAML; it also knows how a scalar was spelled."""

    _spelled: Callable[[Pointer], str | None] = attrs.field(
        default=lambda _pointer: None, repr=False, eq=False, kw_only=True
    )

    def spelled(self, pointer: Pointer) -> str | None:
        """The text of the plain scalar at `pointer`, such as "007" for 7; None for others."""
        return self._spelled(pointer)


def parse(data: bytes, *, name: str = "") -> YamlDocument:
    """Reads the one YAML document of UTF-8 text; `name` (a path) appears in errors.

    Plain scalars follow the core schema of YAML 1.2, but 0644 is octal. Tolerated with a note: a
    byte order mark, yes/no/on/off, numbers other readers see differently. Raises DocumentError for
    an empty or second document, duplicate keys, keys that are no scalars, tags beyond the plain
    types, more than 1000 levels, a recursive alias, aliases that add more than 20,000 values.
    """
    text, marks = decoded(data, name)
    first = _Builder(text, name)
    first.read()

    @functools.cache
    def placed() -> _Builder:
        builder = _Builder(text, name, places=True)
        builder.read()
        return builder

    def locate(pointer: Pointer, key: bool) -> tuple[int, int]:
        node = placed().root.find(pointer)
        return placed().lines.place(node.key if key else node.start)

    return YamlDocument(
        first.value,
        (*marks, *first.notes),
        locate,
        spelled=lambda pointer: placed().spellings.get(pointer),
    )


@attrs.define
class _Frame:
    """A container whose end has not been seen."""

    value: dict[str, Any] | list[Any]
    node: ValueNode
    anchor: str | None
    key: str | int | None = None
    key_at: int = 0
    size: int = 1
    merged: list[tuple[Any, ValueNode]] = attrs.field(factory=list)


class _Builder:
    """Builds one document's value from events; with `places` also its positions."""

    def __init__(self, text: str, name: str, places: bool = False) -> None:
        self.text, self.name, self.places = text, name, places
        self.lines = LineIndex(text)
        self.notes: list[Note] = []
        self.spellings: dict[Pointer, str] = {}
        self.value: Any = None
        self.root = ValueNode(0, 0)
        self._open: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, ValueNode, int]] = {}
        self._documents = self._added = 0

    def read(self) -> None:
        """Reads the whole text; raises DocumentError."""
        loader = _Loader(self.text)
        try:
            while loader.check_event():
                self._event(loader.get_event())
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._fail(mark.index if mark else 0, error.problem or "not YAML", "correct the YAML")
        except yaml.YAMLError as error:
            offset = min(getattr(error, "position", 0) or 0, len(self.text))
            self._fail(offset, f"not YAML: {_first_line(error)}", "remove or escape the character")
        finally:
            loader.dispose()
        if not self._documents:
            self._fail(0, "the document is empty", "one YAML value was expected")

    def _event(self, event: yaml.Event) -> None:
        start = event.start_mark.index if event.start_mark else 0
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._fail(start, "a second document", "keep one document in a file")
            case yaml.CollectionStartEvent():
                self._start(event, start)
            case yaml.CollectionEndEvent():
                self._end()
            case yaml.ScalarEvent():
                self._scalar(event, start)
            case yaml.AliasEvent():
                self._alias(event.anchor or "", start)

    def _start(self, event: yaml.CollectionStartEvent, start: int) -> None:
        """Opens a mapping or a sequence."""
        if len(self._open) >= DEEPEST:
            self._fail(start, f"nested deeper than {DEEPEST} levels", "flatten the document")
        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", TAGS + ("map" if mapping else "seq")):
            self._foreign(event.tag, start)
        if self._awaits_key():
            self._fail(start, "a key that is no scalar", "write a string as the key")
        value: dict[str, Any] | list[Any] = {} if mapping else []
        self._open.append(_Frame(value, self._node(start), event.anchor))

    def _end(self) -> None:
        """Closes the innermost container."""
        frame = self._open.pop()
        for value, node in reversed(frame.merged):
            for name in value:
                if name not in frame.value:
                    frame.value[name] = value[name]
                    frame.node.members[name] = node.members.get(name, node)
        self._attach(frame.value, frame.node, frame.size, frame.anchor)

    def _scalar(self, event: yaml.ScalarEvent, start: int) -> None:
        plain = bool(event.implicit[0])
        if self._awaits_key():
            self._key(event.value, start, plain)
            return
        value = self._resolved(event, start) if plain or event.tag else event.value
        if self.places and not isinstance(value, str):
            self.spellings[self._pointer()] = event.value
        self._attach(value, self._node(start), 1, event.anchor)

    def _resolved(self, event: yaml.ScalarEvent, start: int) -> Scalar:
        tag: str | None = event.tag
        if tag in ("!", TAGS + "str"):
            return str(event.value)
        try:
            value, odd = resolve(event.value)
        except ValueError as error:
            self._fail(start, str(error), "write a finite number, or quote it")
        if odd and not isinstance(value, str):
            self._note("number", start, odd)
        elif odd:
            self._note("word", start, odd)
        if tag is not None and not _fits(tag, value):
            self._foreign(f"{tag} for {shown(event.value)}", start)
        return value

    def _key(self, text: str, start: int, plain: bool) -> None:
        """The name of a mapping's next member."""
        frame = self._open[-1]
        assert isinstance(frame.value, dict)
        if text in frame.value:
            self._fail(start, f"member {shown(text)!r} is given twice", "remove one of them")
        frame.key, frame.key_at = text, start
        if text == MERGE and plain:
            frame.key = _MERGING

    def _alias(self, anchor: str, start: int) -> None:
        if self._awaits_key():
            self._fail(start, "a key that is an alias", "write the key out")
        if anchor not in self._anchors:
            inside = any(frame.anchor == anchor for frame in self._open)
            problem = f"alias *{shown(anchor)} " + (
                "contains itself" if inside else "has no anchor"
            )
            self._fail(start, problem, "write the value out")
        value, node, size = self._anchors[anchor]
        self._added += size
        if self._added > EXPANSION:
            problem = f"aliases add more than {EXPANSION} values"
            self._fail(start, problem, "write the values out, or need fewer")
        self._attach(value, node, size, None)

    def _attach(self, value: Any, node: ValueNode, size: int, anchor: str | None) -> None:
        """Puts a whole value into the innermost open container."""
        if anchor is not None:
            self._anchors[anchor] = (value, node, size)
        if not self._open:
            self.value, self.root = value, node
            return
        frame = self._open[-1]
        frame.size += size
        if isinstance(frame.value, list):
            step: str | int = len(frame.value)
            frame.value.append(value)
        elif frame.key is _MERGING:
            self._merge(frame, value, node)
            frame.key = None
            return
        else:
            assert isinstance(frame.key, str)
            step, frame.key = frame.key, None
            frame.value[step] = value
        if self.places:
            key = node.start if isinstance(step, int) else frame.key_at
            frame.node.members[step] = ValueNode(node.start, key, node.members)

    def _merge(self, frame: _Frame, value: Any, node: ValueNode) -> None:
        """Remembers what "<<" adds once the members of the mapping itself are known."""
        several = value if isinstance(value, list) else [value]
        if not all(isinstance(mapping, dict) for mapping in several):
            self._fail(frame.key_at, '"<<" merges something else than mappings', "merge mappings")
        for index, mapping in reversed(list(enumerate(several))):
            below = node.members.get(index, node) if isinstance(value, list) else node
            frame.merged.append((mapping, below))

    def _awaits_key(self) -> bool:
        return bool(self._open) and (
            isinstance(self._open[-1].value, dict) and self._open[-1].key is None
        )

    def _node(self, start: int) -> ValueNode:
        return ValueNode(start, start)

    def _pointer(self) -> Pointer:
        return tuple(len(frame.value) if frame.key is None else frame.key for frame in self._open)

    def _note(self, kind: str, start: int, text: str) -> None:
        if len(self.notes) < NOTES_KEPT:
            self.notes.append(Note(kind, self._pointer(), *self.lines.place(start), text))

    def _foreign(self, tag: str, start: int) -> NoReturn:
        problem = f"tag {shown(tag)} makes no plain value"
        self._fail(start, problem, "remove the tag: only !!str, !!int and their like are known")

    def _fail(self, offset: int, what: str, hint: str) -> NoReturn:
        line, column = self.lines.place(offset)
        raise DocumentError(self.name, line, column, what, hint) from None


# A step that no key equals: the member is merged instead of kept.
_MERGING = -1


def _fits(tag: str, value: Scalar) -> bool:
    """Whether a scalar is of the type that its tag demands."""
    type_name = tag.removeprefix(TAGS)
    if isinstance(value, bool) or value is None:
        return type_name == ("null" if value is None else "bool")
    return isinstance(value, int | Decimal) and (
        type_name == "float" or (type_name == "int" and isinstance(value, int))
    )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
