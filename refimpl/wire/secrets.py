"""Messages as JSON for people to read, with what the schema calls secret left out."""

from __future__ import annotations

import base64
import functools
import keyword
import math
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

__all__ = ["MASK", "holds_secrets", "is_secret", "secret_texts", "to_dict"]

MASK = "***"
"""Stands for a secret's value; the keys of a map of secrets stay readable."""

Render = Callable[[Any], Any]
_RENDERERS: dict[tuple[Descriptor, bool], Render] = {}


def to_dict(message: Message, *, reveal: bool = False) -> dict[str, Any]:
    """The JSON form of a message: the schema's field names, only what is set.

    Bytes become base64, enums their names, numbers stay numbers (also 64-bit ones), timestamps
    and durations the strings that protobuf's own JSON has. Values of secret fields (`is_secret`)
    become "***" unless `reveal`.
    """
    descriptor = cast(Descriptor, message.DESCRIPTOR)
    return cast(dict[str, Any], _compiled(descriptor, reveal)(message))


def is_secret(field: FieldDescriptor) -> bool:
    """Whether the schema marks a field: protobuf's `debug_redact`, or an option `csi_secret`.

    The extension is found by its name, so that this works for any schema that declares one
    (CSI does: "Secrets Requirements").
    """
    options = field.GetOptions()
    if options.debug_redact:
        return True
    return any(
        option.is_extension and option.name == "csi_secret" and value is True
        for option, value in options.ListFields()
    )


def holds_secrets(kind: type[Message]) -> bool:
    """Whether a message of this type can carry a secret, at whatever depth."""
    return _holds_any(cast(Descriptor, kind.DESCRIPTOR))


@functools.cache
def _holds_any(descriptor: Descriptor) -> bool:
    return _holds_secrets(descriptor, set())


def secret_texts(message: Message) -> Iterator[str]:
    """The values of all secret fields of a message, at whatever depth, that are text."""
    for field, value in message.ListFields():
        values = value.values() if _is_map(field) else value if field.is_repeated else [value]
        if is_secret(field):
            yield from (text for text in values if isinstance(text, str))
        elif field.message_type is not None:
            for each in values:
                if isinstance(each, Message):
                    yield from secret_texts(each)


def _holds_secrets(descriptor: Descriptor, seen: set[str]) -> bool:
    if descriptor.full_name in seen:
        return False
    seen.add(descriptor.full_name)
    return any(
        is_secret(field)
        or (field.message_type is not None and _holds_secrets(field.message_type, seen))
        for field in descriptor.fields
    )


def _compiled(descriptor: Descriptor, reveal: bool) -> Render:
    key = descriptor, reveal
    if key not in _RENDERERS:
        names: dict[str, Any] = {}
        _RENDERERS[key] = lambda message: names["render"](message)  # it may contain its own type
        exec(_source(descriptor, reveal, names), names)
        _RENDERERS[key] = names["render"]
    return _RENDERERS[key]


def _source(descriptor: Descriptor, reveal: bool, names: dict[str, Any]) -> str:
    """A function for one type as straight-line code, which takes half the time of a loop.

    It runs twice for each call of a busy fake. `names` receives what the code refers to.
    """
    lines = ["def render(message):", " out = {}"]
    for field in descriptor.fields:
        name, render = field.name, _render_field(field, reveal)
        names[f"r{field.number}"] = render
        rendered = "value" if render is None else f"r{field.number}(value)"
        value = f"getattr(message, {name!r})" if keyword.iskeyword(name) else f"message.{name}"
        if field.has_presence:
            lines += [f" if message.HasField({name!r}):", f"  value = {value}"]
        else:
            lines += [f" value = {value}", " if value:"]
        lines.append(f"  out[{name!r}] = {rendered}")
    return "\n".join([*lines, " return out"])


def _render_field(field: FieldDescriptor, reveal: bool) -> Render | None:
    if not reveal and is_secret(field):
        return _mask_map if _is_map(field) else _mask_list if field.is_repeated else _mask
    if _is_map(field):
        return _render_map(field, reveal)
    render = _render_one(field, reveal)
    if not field.is_repeated:
        return render
    return list if render is None else lambda values: [render(value) for value in values]


def _render_map(field: FieldDescriptor, reveal: bool) -> Render:
    assert field.message_type is not None
    keys, values = (field.message_type.fields_by_name[name] for name in ("key", "value"))
    render_value = _render_one(values, reveal)
    if render_value is None and keys.type == FieldDescriptor.TYPE_STRING:
        return dict
    render = render_value or (lambda value: value)
    return lambda entries: {str(key): render(value) for key, value in entries.items()}


def _render_one(field: FieldDescriptor, reveal: bool) -> Render | None:
    if field.message_type is not None:
        well_known = _WELL_KNOWN.get(field.message_type.full_name)
        return well_known or _compiled(field.message_type, reveal)
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return lambda number: names.get(number, number)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _base64
    if field.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
        return _number
    return None


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _mask(_value: object) -> str:
    return MASK


def _mask_list(values: Sized) -> list[str]:
    return [MASK] * len(values)


def _mask_map(entries: Iterable[Any]) -> dict[str, str]:
    return {str(key): MASK for key in entries}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)  # JSON has no infinity and no NaN


def _json_string(value: Any) -> Any:
    return value.ToJsonString()


def _wrapped(value: Any) -> Any:
    return _base64(value.value) if isinstance(value.value, bytes) else value.value


_WRAPPERS = ["Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64"]
_WELL_KNOWN: dict[str, Render] = {
    "google.protobuf.Timestamp": _json_string,
    "google.protobuf.Duration": _json_string,
    "google.protobuf.FieldMask": _json_string,
    **{f"google.protobuf.{kind}Value": _wrapped for kind in _WRAPPERS},
}
