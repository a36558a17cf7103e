"""What is wrong with an object: the path of a field and a reason, as an API server says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

import attrs

__all__ = [
    "At",
    "Problem",
    "Reason",
    "at_most",
    "exactly_one",
    "given",
    "opaque_object",
    "required",
    "unique",
]


_LONGEST_OPAQUE = 10 * 1024


class Reason(StrEnum):
    """Reasons of Kubernetes (metav1.CauseType)."""

    INVALID = "FieldValueInvalid"
    REQUIRED = "FieldValueRequired"
    TOO_MANY = "FieldValueTooMany"
    TOO_LONG = "FieldValueTooLong"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    NOT_SUPPORTED = "FieldValueNotSupported"


@attrs.frozen
class Problem:
    """field: such as spec.devices[0].attributes[x].string. steps: the same, to find the place in a
    document."""

    field: str
    reason: Reason
    message: str
    steps: tuple[str | int, ...] = attrs.field(default=(), eq=False)


@attrs.frozen
class At:
    """A place in an object, and where problems are noted."""

    problems: list[Problem]
    path: str = ""
    steps: tuple[str | int, ...] = ()

    def field(self, *names: str) -> At:
        """A field of a field."""
        path = ".".join(filter(None, (self.path, *names)))
        return At(self.problems, path, (*self.steps, *names))

    def index(self, index: int) -> At:
        """An element of a list."""
        return At(self.problems, f"{self.path}[{index}]", (*self.steps, index))

    def key(self, key: str) -> At:
        """A value of a map."""
        return At(self.problems, f"{self.path}[{key}]", (*self.steps, key))

    def items(self, values: Any) -> Iterator[tuple[At, Any]]:
        """Each element of a list with its place."""
        for index, value in enumerate(values or ()):
            yield self.index(index), value

    def note(self, reason: Reason, message: str) -> None:
        """Something is wrong here."""
        self.problems.append(Problem(self.path, reason, message, self.steps))

    def invalid(self, message: str) -> None:
        """The value cannot be."""
        self.note(Reason.INVALID, message)

    def one_of(self, value: str, allowed: tuple[str, ...]) -> None:
        """The value is one of a few."""
        if value not in allowed:
            self.note(Reason.NOT_SUPPORTED, f"{value!r} is not one of {', '.join(allowed)}")


def required(at: At, value: object) -> bool:
    """Whether something is there; notes it where nothing is."""
    if value in (None, "", [], {}):
        at.note(Reason.REQUIRED, "has to be given")
        return False
    return True


def at_most(at: At, values: Any, most: int) -> bool:
    """Whether a list or map is no longer than allowed."""
    if values is not None and len(values) > most:
        at.note(Reason.TOO_MANY, f"has {len(values)} entries; {most} are allowed")
        return False
    return True


def unique(at: At, values: Any, key: Callable[[Any], object] = lambda value: value) -> None:
    """Every element is there once."""
    seen: list[object] = []
    for place, value in at.items(values):
        name = key(value)
        if name in seen:
            shown = name if isinstance(name, str) else value
            place.note(Reason.DUPLICATE, f"{shown!r} is there already")
        seen.append(name)


def exactly_one(at: At, value: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """One of these fields is set, to no empty text and not to false."""
    for name in given(value, *names):
        if value[name] == "":
            at.field(name).invalid("may be left out, but not be empty")
        elif value[name] is False:
            at.field(name).invalid("is true or left out")
    chosen = [name for name in given(value, *names) if value[name] not in ("", False)]
    if not chosen:
        at.note(Reason.REQUIRED, f"has exactly one of {', '.join(names)}")
    elif len(chosen) > 1:
        at.invalid(f"has exactly one of {', '.join(names)}, not {' and '.join(chosen)}")


def opaque_object(at: At, value: Any) -> None:
    """An object that Kubernetes only keeps. An API server counts its bytes as they are sent; here
    they are those of JSON as it is usually written."""
    size = len(json.dumps(value, ensure_ascii=False).encode())
    if size > _LONGEST_OPAQUE:
        at.note(Reason.TOO_LONG, f"has {size} bytes; {_LONGEST_OPAQUE} are allowed")
    elif not isinstance(value, Mapping):
        at.invalid("has to be an object")


def given(value: Mapping[str, Any], *names: str) -> list[str]:
    """Which of these fields are set."""
    return [name for name in names if value.get(name) is not None]
