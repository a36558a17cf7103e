"""Dotted paths into protobuf messages, found by reflection.

`volume.capacity_bytes`, `entries.0.volume` (list index), `entries.*.volume` (each element),
`volume.volume_context.tier` (map entry; where the values are scalars, all that follows is the
key, dots included), `topology["a.b"].zone` (a key with dots before a further field).
"""

from __future__ import annotations

import difflib
import functools
import re
from typing import Any

from attrs import frozen
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

__all__ = ["EACH", "FieldPath", "PathError", "PathStep", "resolve"]

EACH = "*"
"""The element that stands for every one of a list or map."""

_SEGMENT = re.compile(r"""\.?(?:\["([^"]+)"\]|\['([^']+)'\]|\[([^\]"']+)\]|([^.\[\]]+))""")


class PathError(ValueError):
    """A path that the message does not have, or a value that does not fit there."""


@frozen
class PathStep:
    """One field of a message, and inside it one element (index, map key, `*`) or the whole."""

    field: FieldDescriptor
    element: str | None = None

    @property
    def is_map(self) -> bool:
        """Whether the field is a map (which descriptors present as a list of entries)."""
        kind = self.field.message_type
        return self.field.is_repeated and kind is not None and bool(kind.GetOptions().map_entry)

    @property
    def whole(self) -> bool:
        """Whether the step names a list or map and no element of it."""
        return self.field.is_repeated and self.element is None

    @property
    def leaf(self) -> FieldDescriptor:
        """What one value is: the field, or the value part of a map's entries."""
        return _entry(self.field).fields_by_name["value"] if self.is_map else self.field

    @property
    def key_type(self) -> int:
        """The type of a map's keys, as FieldDescriptor.cpp_type gives it."""
        return _entry(self.field).fields_by_name["key"].cpp_type

    @property
    def key(self) -> str | int | bool:
        """The element as a map's key. Raises ValueError if the map has keys of another type."""
        text, kind = self.element or "", self.key_type
        if kind == FieldDescriptor.CPPTYPE_STRING:
            return text
        if kind != FieldDescriptor.CPPTYPE_BOOL:
            return int(text)
        if text not in ("true", "false"):
            raise ValueError(f"{text!r} is neither true nor false")
        return text == "true"


@frozen
class FieldPath:
    """A path that messages of the type are known to have."""

    text: str
    steps: tuple[PathStep, ...]

    @property
    def last(self) -> PathStep:
        """The step that names the value."""
        return self.steps[-1]

    def values(self, message: Message) -> list[Any]:
        """What is found there: nothing where a message, an element or an optional is unset."""
        values = [message]
        for step in self.steps:
            values = [value for parent in values for value in _read(parent, step)]
        return values


@functools.lru_cache(maxsize=4096)
def resolve(descriptor: Descriptor, text: str) -> FieldPath:
    """Finds the path in messages of that type. Raises PathError, which tells what there is."""
    steps: list[PathStep] = []
    rest = text
    message: Descriptor | None = descriptor
    while rest:
        if message is None:
            raise PathError(f"{text!r}: nothing can follow {steps[-1].field.name}, a scalar")
        name, rest = _next(text, rest)
        step, rest = _step(text, _field(message, name, text), rest)
        steps.append(step)
        message = step.leaf.message_type
    if not steps:
        raise PathError("the path is empty: name a field of the message")
    return FieldPath(text, tuple(steps))


def _entry(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None  # a map's entries are messages
    return field.message_type


def _next(text: str, rest: str) -> tuple[str, str]:
    match = _SEGMENT.match(rest)
    if match is None:
        raise PathError(f"{text!r} is no path (at {rest!r}): write names with dots between them")
    return next(part for part in match.groups() if part), rest[match.end() :]


def _field(message: Descriptor, name: str, text: str) -> FieldDescriptor:
    descriptor = message.fields_by_name.get(name)
    if descriptor is None:
        names = [field.name for field in message.fields]
        close = difflib.get_close_matches(name, names, 1)
        hint = f", did you mean {close[0]}?" if close else ""
        known = ", ".join(names) or "no fields"
        raise PathError(f"{text!r}: {message.name} has no field {name!r}{hint} (it has: {known})")
    return descriptor


def _step(text: str, field: FieldDescriptor, rest: str) -> tuple[PathStep, str]:
    step = PathStep(field)
    if not rest or not step.whole:
        return step, rest
    if step.is_map and step.leaf.message_type is None and rest.startswith("."):
        element, rest = rest[1:], ""  # keys such as csi.storage.k8s.io/pvc/name have dots
    else:
        element, rest = _next(text, rest)
    step = PathStep(field, element)
    _check_element(text, step)
    return step, rest


def _check_element(text: str, step: PathStep) -> None:
    if step.element == EACH:
        return
    name, element = step.field.name, step.element or ""
    if not step.is_map:
        if not (element.isascii() and element.isdecimal()):
            raise PathError(f"{text!r}: {name} is a list, {element!r} is no index (0, 1, … or *)")
        return
    try:
        _ = step.key
    except ValueError:
        raise PathError(f"{text!r}: {element!r} is no key that {name} could have") from None


def _read(parent: Message, step: PathStep) -> list[Any]:
    field, element = step.field, step.element
    inside = getattr(parent, field.name)
    if element is None:
        unset = field.has_presence and not parent.HasField(field.name)
        return [] if unset else [inside]
    if step.is_map:
        keys = list(inside) if element == EACH else [step.key]
        return [inside[key] for key in keys if key in inside]
    return list(inside) if element == EACH else list(inside[int(element) :][:1])
