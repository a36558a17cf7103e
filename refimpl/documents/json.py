"""JSON read strictly and exactly: numbers keep their value, defects and oddities their place."""

from __future__ import annotations

import codecs
import functools
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from refimpl.documents.document import DEEPEST, Document, DocumentError, Note, Pointer
from refimpl.documents.numbers import Unrepresentable, number, oddity
from refimpl.documents.scan import JsonScanner

__all__ = ["Document", "DocumentError", "Note", "decoded", "dump", "parse"]

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


def parse(data: bytes, *, name: str = "") -> Document:
    """Reads one JSON value of UTF-8 text; `name` (a path) appears in errors.

    Integers come as int, all other numbers as Decimal. Tolerated with a note: duplicate names
    (the last counts), a byte order mark, numbers that float64 readers change. Raises DocumentError
    for everything else that RFC 8259 does not allow and for more than 1000 levels of nesting.
    """
    text, marks = decoded(data, name)
    quick = _Quick()
    value: Any = None
    try:
        value = quick.decoder.decode(text) if _shallow(text) else quick.give_up()
    except (_Suspect, json.JSONDecodeError, RecursionError):
        quick.sure = False
    scan = functools.cache(lambda: JsonScanner(text, name).read())
    if not quick.sure or SURROGATE.search(text):
        value = scan().value
        marks.extend(scan().notes)

    def locate(pointer: Pointer, key: bool) -> tuple[int, int]:
        node = scan().root.find(pointer)
        return scan().lines.place(node.key if key else node.start)

    return Document(value, tuple(marks), locate)


class _Suspect(Exception):
    """The quick reader met something that only the thorough one can judge."""


class _Quick:
    """The standard library's scanner; `sure` turns False where a note or an error is due."""

    def __init__(self) -> None:
        self.sure = True
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._number,
            parse_float=self._number,
            parse_constant=self.give_up,
        )

    def give_up(self, _text: str = "") -> Any:
        """Leaves the document to the thorough reader."""
        raise _Suspect

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        self.sure = self.sure and len(members) == len(pairs)
        return members

    def _number(self, text: str) -> int | Decimal:
        try:
            value = number(text)
        except Unrepresentable:
            raise _Suspect from None
        self.sure = self.sure and not oddity(text, value)
        return value


def _shallow(text: str) -> bool:
    """Whether the nesting is surely within bounds, whatever the brackets mean."""
    return text.count("[") + text.count("{") <= DEEPEST


def decoded(data: bytes, name: str) -> tuple[str, list[Note]]:
    """The text without its byte order mark, and the note on that mark. Raises DocumentError for
    what is not UTF-8; the reader of YAML starts with it, too.
    """
    if data.startswith(WIDE):
        raise DocumentError(name, 1, 1, "the text is UTF-16 or UTF-32", "save the file as UTF-8")
    marks = []
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
        text = "the document starts with a byte order mark, which many readers refuse"
        marks.append(Note("byte-order-mark", (), 1, 1, text))
    try:
        return data.decode(), marks
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        line_start = data[data.rfind(b"\n", 0, error.start) + 1 : error.start]
        problem = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise DocumentError(
            name, line, len(line_start.decode()) + 1, problem, "save the file as UTF-8"
        ) from None


def dump(value: Any) -> bytes:
    """Compact UTF-8 JSON of dict, list, tuple, str, int, Decimal, float, bool and None.

    Numbers keep their exact value, order of members stays, nothing is escaped that need not be.
    Raises TypeError for other types, ValueError for NaN, infinity and unpaired surrogates.
    """
    return "".join(_pieces(value)).encode()


def _pieces(value: Any) -> Iterator[str]:
    """The text in pieces; open containers stand on a list, so that depth costs no stack."""
    todo: list[Iterator[Any]] = [iter([value])]
    closers = [""]
    while todo:
        for item in todo[-1]:
            if isinstance(item, _Raw):
                yield item.text
            elif isinstance(item, dict | list | tuple):
                yield "{" if isinstance(item, dict) else "["
                closers.append("}" if isinstance(item, dict) else "]")
                todo.append(_members(item) if isinstance(item, dict) else _items(item))
                break
            else:
                yield _scalar(item)
        else:
            todo.pop()
            yield closers.pop()


class _Raw:
    """Text that goes out as it is."""

    def __init__(self, text: str) -> None:
        self.text = text


def _members(value: dict[Any, Any]) -> Iterator[Any]:
    for index, (name, item) in enumerate(value.items()):
        if not isinstance(name, str):
            raise TypeError(f"member name {name!r} is not a string; JSON has no other names")
        yield _Raw("," * bool(index) + _scalar(name) + ":")
        yield item


def _items(value: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    for index, item in enumerate(value):
        if index:
            yield _Raw(",")
        yield item


def _scalar(value: Any) -> str:
    """The text of anything but a container."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not a JSON number; write a finite one or null")
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    raise TypeError(f"{type(value).__name__} has no JSON form; give dict, list, str or a number")
