"""Changes to protobuf messages: values in JSON form, assigned to dotted paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import attrs
from attrs import frozen
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from refimpl.wire.faults.paths import EACH, FieldPath, PathError, PathStep, resolve

__all__ = ["Edits", "check_value"]

M = TypeVar("M")

_NO_FIT = (json_format.ParseError, TypeError, ValueError, AttributeError, OverflowError)

_TYPES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}


@frozen
class Edits:
    """Assignments to a message: path to value in JSON form, None to clear."""

    values: Mapping[str, Any] = attrs.field(converter=dict)

    def applied(self, message: M) -> tuple[M, list[str]]:
        """A changed copy, and a sentence for each edit that this message does not allow."""
        if not isinstance(message, Message):
            return message, ["the reply is of no known type, so its fields cannot be set"]
        copy, problems = type(message)(), []
        copy.CopyFrom(message)
        for text, value in self.values.items():
            try:
                _assign(copy, resolve(message.DESCRIPTOR, text), value)
            except PathError as error:
                problems.append(str(error))
        return copy, problems

    def check(self, descriptor: Descriptor) -> None:
        """Raises PathError for a path, or a value, that messages of the type cannot have."""
        for text, value in self.values.items():
            path = resolve(descriptor, text)
            if value is not None:
                _fresh(path.last, value, text)

    def to_dict(self) -> dict[str, Any]:
        """The assignments, as given."""
        return dict(self.values)


def check_value(path: FieldPath, value: Any) -> None:
    """Raises PathError unless `value`, in JSON form, may stand at the end of the path."""
    _fresh(path.last, value, path.text)


def _assign(message: Message, path: FieldPath, value: Any) -> None:
    parents = [message]
    for step in path.steps[:-1]:
        parents = [child for parent in parents for child in _enter(parent, step, path.text)]
    for parent in parents:
        if path.last.element is None:
            _write(parent, path.last, value, path.text)
        else:
            _write_elements(parent, path.last, value, path.text)


def _enter(parent: Message, step: PathStep, text: str) -> list[Any]:
    """The messages one step down; a map's entry and a field are made where they are missing."""
    inside = getattr(parent, step.field.name)
    if step.element is None:
        return [inside]
    return [inside[key] for key in _keys(inside, step, text)]


def _keys(inside: Any, step: PathStep, text: str) -> list[Any]:
    """The map keys or list indexes meant. Raises PathError if a list is too short."""
    if step.element == EACH:
        return list(inside) if step.is_map else list(range(len(inside)))
    if step.is_map:
        return [step.key]
    index = int(step.element or 0)
    if index >= len(inside):
        raise PathError(f"{text!r}: {step.field.name} has {len(inside)} elements here")
    return [index]


def _write(parent: Message, step: PathStep, value: Any, text: str) -> None:
    fresh = None if value is None else _fresh(step, value, text)
    name = step.field.name
    parent.ClearField(name)
    if fresh is None:
        return
    parent.MergeFrom(fresh)
    if step.field.message_type is not None and not step.field.is_repeated:
        getattr(parent, name).SetInParent()  # an empty message counts as set, too


def _write_elements(parent: Message, step: PathStep, value: Any, text: str) -> None:
    inside = getattr(parent, step.field.name)
    keys = _keys(inside, step, text)
    if value is None:
        for key in reversed(keys):  # from the end: what is cleared moves the elements behind it
            if not step.is_map or key in inside:
                del inside[key]
        return
    field_value = getattr(_fresh(step, value, text), step.field.name)
    new = next(iter(field_value.values())) if step.is_map else field_value[0]
    for key in keys:
        if isinstance(new, Message):
            inside[key].CopyFrom(new)
        else:
            inside[key] = new


def _fresh(step: PathStep, value: Any, text: str) -> Message:
    """A message with nothing but that field (or one element of it) set from the JSON form."""
    assert step.field.containing_type is not None  # no extension can be named in a path
    message = GetMessageClass(step.field.containing_type)()
    content = value
    if step.element is not None:
        content = {_any_key(step): value} if step.is_map else [value]
    try:
        if step.field.containing_type.full_name.startswith("google.protobuf."):
            setattr(message, step.field.name, content)  # their JSON form is no mapping of fields
        else:
            json_format.ParseDict({step.field.name: content}, message)
    except _NO_FIT as error:
        raise PathError(f"{text!r}: {value!r} does not fit {_kind(step)}") from error
    return message


def _any_key(step: PathStep) -> str:
    """Some key of the right type: which one does not matter, only the value is taken."""
    return "true" if step.key_type == FieldDescriptor.CPPTYPE_BOOL else "0"


def _kind(step: PathStep) -> str:
    leaf = step.leaf
    if leaf.enum_type is not None:
        names = ", ".join(value.name for value in leaf.enum_type.values)
        kind = f"one of {names}, or a number"
    else:
        kind = _TYPES[leaf.type] if leaf.message_type is None else leaf.message_type.name
    shape = ("map of " if step.is_map else "list of ") if step.whole else ""
    return f"{step.field.name} ({shape}{kind})"
