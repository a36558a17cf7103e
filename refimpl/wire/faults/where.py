"""Predicates on a request as YAML can state them: a dotted path, and the value or glob wanted."""

from __future__ import annotations

import base64
import fnmatch
from collections.abc import Mapping
from typing import Any, Literal

import attrs
from attrs import frozen
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from refimpl.wire.faults.edits import check_value
from refimpl.wire.faults.paths import FieldPath, PathError, PathStep, resolve

__all__ = ["Where"]

_WRAPPERS = {
    f"google.protobuf.{kind}Value"
    for kind in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
}

_SHAPES: dict[int, Literal["text", "bytes"]] = {
    FieldDescriptor.TYPE_STRING: "text",
    FieldDescriptor.TYPE_BYTES: "bytes",
}


@frozen
class Where:
    """All conditions must hold; each maps a path to a wanted value, or a list of alternatives.

    A string is a glob; `*` on a message or a list asks that there is one; None that it is unset
    (or, for a scalar without presence, zero). Where `*` in the path names several values, one
    that fits is enough. A request without such a field does not match.
    """

    conditions: Mapping[str, Any] = attrs.field(converter=dict)

    def __call__(self, request: object) -> bool:
        if not isinstance(request, Message):
            return False
        try:
            return all(
                _holds(resolve(request.DESCRIPTOR, text), request, wanted)
                for text, wanted in self.conditions.items()
            )
        except PathError:
            return False

    def check(self, descriptor: Descriptor) -> None:
        """Raises PathError if requests of that type cannot ever meet the conditions."""
        for text, wanted in self.conditions.items():
            path = resolve(descriptor, text)
            for value in _alternatives(wanted):
                _check_wanted(path, value)

    def to_dict(self) -> dict[str, Any]:
        """The conditions, as given."""
        return dict(self.conditions)


def _alternatives(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _check_wanted(path: FieldPath, wanted: Any) -> None:
    if wanted is None or wanted == "*":
        return
    step, name = path.last, path.last.field.name
    if _shape(step) == "message":
        raise PathError(f"{path.text!r}: {name} is no scalar: ask for '*' (there) or null (unset)")
    if isinstance(wanted, str) and _shape(step) == "number":
        raise PathError(f"{path.text!r}: {wanted!r} is text, {name} is not: leave out the quotes")
    if not (_shape(step) in ("text", "enum") and isinstance(wanted, str) and _is_glob(wanted)):
        check_value(path, wanted)


def _is_glob(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def _shape(step: PathStep) -> Literal["message", "text", "enum", "bytes", "number"]:
    """How values at that step are compared; lists and maps as a whole are like messages."""
    leaf = step.leaf
    if leaf.message_type is not None and leaf.message_type.full_name in _WRAPPERS:
        leaf = leaf.message_type.fields_by_name["value"]
    if step.whole or leaf.message_type is not None:
        return "message"
    if leaf.enum_type is not None:
        return "enum"
    return _SHAPES.get(leaf.type, "number")


def _holds(path: FieldPath, request: Message, wanted: Any) -> bool:
    values = path.values(request)
    return any(_fits(path.last, alternative, values) for alternative in _alternatives(wanted))


def _fits(step: PathStep, wanted: Any, values: list[Any]) -> bool:
    if wanted is not None:
        return any(_equal(step, wanted, value) for value in values)
    if step.element is not None or step.field.has_presence:
        return not values
    return not any(values)


def _equal(step: PathStep, wanted: Any, value: Any) -> bool:
    shape = _shape(step)
    if shape == "message":
        return wanted == "*" and (not step.whole or len(value) > 0)
    if isinstance(value, Message):
        value = value.value  # type: ignore[attr-defined]
    if shape == "enum" and isinstance(wanted, str):
        return fnmatch.fnmatchcase(_enum_name(step, value), wanted)
    if isinstance(value, str):
        return isinstance(wanted, str) and fnmatch.fnmatchcase(value, wanted)
    if isinstance(value, bytes):
        return wanted in ("*", base64.b64encode(value).decode())
    same_kind = isinstance(wanted, bool) == isinstance(value, bool)  # True == 1 in Python
    return wanted == "*" or (same_kind and bool(wanted == value))


def _enum_name(step: PathStep, number: int) -> str:
    kind = step.leaf.enum_type
    value = kind.values_by_number.get(number) if kind else None
    return value.name if value else str(number)
