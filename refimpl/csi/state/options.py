"""Settings from text, as `--set NAME=VALUE` gives them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from refimpl.csi.state.models import AccessMode

_FACTORS = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 1 << 10,
    "Mi": 1 << 20,
    "Gi": 1 << 30,
    "Ti": 1 << 40,
    "Pi": 1 << 50,
}
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def size(text: str) -> int:
    """Bytes of "4096", "10Gi" or "5G"."""
    digits = text.rstrip("kMGTPi")
    return int(digits) * _FACTORS[text[len(digits) :]]


def switch(text: str) -> bool:
    """true/false, yes/no, 1/0."""
    return _WORDS[text.lower()]


def words(text: str) -> frozenset[str]:
    """A set, separated by commas."""
    return frozenset(_split(text))


def ordered(text: str) -> tuple[str, ...]:
    """A list, separated by commas."""
    return tuple(_split(text))


def optional_words(text: str) -> frozenset[str] | None:
    """A set, or "any"."""
    return None if text == "any" else words(text)


def modes(text: str) -> frozenset[AccessMode]:
    """Access modes by name."""
    return frozenset(AccessMode[word] for word in _split(text))


def pairs(text: str) -> dict[str, str]:
    """key=value,key=value"""
    return {key: value for key, _, value in (word.partition("=") for word in _split(text))}


def sizes(text: str) -> dict[str, int]:
    """key=size,key=size"""
    return {key: size(value) for key, value in pairs(text).items()}


def nested(text: str) -> dict[str, dict[str, str]]:
    """A JSON object of objects: {"CreateVolume": {"key": "value"}}."""
    value = json.loads(text)
    return {str(rpc): {str(k): str(v) for k, v in inner.items()} for rpc, inner in value.items()}


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


BY_TYPE: Mapping[str, Callable[[str], object]] = {
    "int": size,
    "float": float,
    "bool": switch,
    "frozenset[str]": words,
    "frozenset[Access]": words,
    "frozenset[str] | None": optional_words,
    "frozenset[AccessMode]": modes,
    "tuple[str, ...]": ordered,
    "Mapping[str, str]": pairs,
    "Mapping[str, int]": sizes,
    "Mapping[str, Mapping[str, str]]": nested,
}


def parsed(kind: type[attrs.AttrsInstance], changes: Mapping[str, object]) -> dict[str, Any]:
    """Values for the fields of `kind`; strings are read after the type of their field. ValueError
    names the setting that is unknown or unreadable and what it takes."""
    fields = {field.name: field for field in attrs.fields(kind) if field.init}
    values: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in fields:
            raise ValueError(f"there is no setting {name!r}; known are {', '.join(sorted(fields))}")
        values[name] = _read(name, str(fields[name].type), value)
    return values


def _read(name: str, kind: str, value: object) -> object:
    reader = BY_TYPE.get(kind)
    if not isinstance(value, str):
        return value
    if reader is None:
        allowed = _choices(kind)
        if allowed and value not in allowed:
            raise ValueError(f"setting {name}={value!r}: one of {', '.join(allowed)} is needed")
        return value
    try:
        return reader(value)
    except (KeyError, ValueError, AttributeError) as error:
        raise ValueError(f"setting {name}={value!r} cannot be read as {kind}") from error


def _choices(kind: str) -> list[str]:
    if kind == "Revision":
        return ["1.12", "1.13"]
    if not kind.startswith("Literal["):
        return []
    return [word.strip(" \"'") for word in kind[len("Literal[") : -1].split(",")]
