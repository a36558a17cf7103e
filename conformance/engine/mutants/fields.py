"""Fields by path, in messages of protobuf and in documents of JSON alike.

`volume.volume_id` is a field of a field, or a member of an object. Of a list every item is meant,
`plugins.0` is one of them. Where a document is not made as the path says nothing is done.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, MutableSequence
from typing import Any

__all__ = ["GONE", "filled", "put", "remove", "value_of"]

GONE: Any = object()
"""As a value: the field is not set, the member is not there."""

_NOTHING: Any = object()


def put(thing: Any, path: str, value: Any) -> None:
    """Puts the value at the path; parents of a field are made as protobuf makes them.

    A function is given what is there, and returns what is to be there instead, or None when it has
    changed a list, map or message in its place. For a member that is missing it is not called.
    """
    if value is GONE:
        remove(thing, path)
        return
    for owner, step in list(_ends(thing, path, missing=True)):
        if not callable(value):
            _assign(owner, step, value)
        elif (present := _child(owner, step, missing=True)) is not _NOTHING:
            changed = value(present)
            if changed is not None and changed != present:
                _assign(owner, step, changed)


def remove(thing: Any, path: str) -> None:
    """Clears a field, takes a member out of its object or an item out of its list."""
    for owner, step in list(_ends(thing, path, missing=False)):
        if isinstance(owner, MutableMapping):
            owner.pop(step, None)
        elif isinstance(owner, MutableSequence):
            del owner[int(step)]
        else:
            owner.ClearField(step)


def filled(thing: Any, path: str) -> bool:
    """Whether there is something at the path: a field that is set, or what is not empty."""
    ends = _ends(thing, path, missing=False)
    return any(
        _is_set(owner, step) if _is_message(owner) else bool(_child(owner, step, missing=False))
        for owner, step in ends
    )


def value_of(thing: Any, path: str) -> Any:
    """What is at the path, None where nothing is; of several the first."""
    for owner, step in _ends(thing, path, missing=True):
        present = _child(owner, step, missing=True)
        return None if present is _NOTHING else present
    return None


def _ends(thing: Any, path: str, *, missing: bool) -> Iterator[tuple[Any, str]]:
    """Whose last steps are meant. `missing`: go through messages that are not set, as well."""
    step, _, rest = path.partition(".")
    if isinstance(thing, MutableSequence) and not step.isdecimal():
        for item in thing:
            yield from _ends(item, path, missing=missing)
    elif not rest and (_is_message(thing) or isinstance(thing, MutableMapping | MutableSequence)):
        yield thing, step
    elif (inner := _child(thing, step, missing=missing)) is not _NOTHING:
        yield from _ends(inner, rest, missing=missing)


def _child(owner: Any, step: str, *, missing: bool) -> Any:
    if isinstance(owner, MutableMapping):
        return owner.get(step, _NOTHING)
    if isinstance(owner, MutableSequence):
        return owner[int(step)] if int(step) < len(owner) else _NOTHING
    if _is_message(owner) and (missing or not _has_presence(owner, step) or owner.HasField(step)):
        return getattr(owner, step)
    return _NOTHING


def _assign(owner: Any, step: str, value: Any) -> None:
    if isinstance(owner, MutableMapping):
        owner[step] = value
    elif isinstance(owner, MutableSequence):
        owner[int(step)] = value
    else:
        _assign_field(owner, step, value)


def _assign_field(message: Any, name: str, value: Any) -> None:
    field = getattr(message, name)
    if isinstance(field, MutableSequence):
        items = list(value)  # it may be made of the items that are there
        del field[:]
        field.extend(items)
    elif isinstance(field, MutableMapping):
        entries = dict(value)
        field.clear()
        field.update(entries)
    elif _is_message(field):
        field.CopyFrom(value)
    else:
        setattr(message, name, value)


def _is_message(thing: Any) -> bool:
    return hasattr(thing, "DESCRIPTOR")


def _has_presence(message: Any, name: str) -> bool:
    return bool(message.DESCRIPTOR.fields_by_name[name].has_presence)


def _is_set(message: Any, name: str) -> bool:
    if _has_presence(message, name):
        return bool(message.HasField(name))
    return bool(getattr(message, name))
