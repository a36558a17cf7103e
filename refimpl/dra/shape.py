"""Whether an object has the fields and types of its kind, before anything else is asked of it.

An API server refuses a wrong type (400) and, told to be strict, an unknown field.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

import attrs

from refimpl.dra.quantity import Quantity

__all__ = ["Misshapen", "shaped"]

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_INT = 1 << 63


@attrs.frozen
class Misshapen:
    """Something at a place in an object; unknown: a field that there is not, which is only told."""

    steps: tuple[str | int, ...]
    message: str
    unknown: bool = False


@cache
def _fields() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files("refimpl.dra").joinpath("fields.toml").read_text())


def shaped(object: Mapping[str, Any]) -> tuple[dict[str, Any], list[Misshapen]]:
    """The object with its quantities as texts and without unknown fields, and what is wrong with
    its shape. Raises KeyError for an unknown kind.
    """
    problems: list[Misshapen] = []
    kind = str(object["kind"])
    return _object(object, kind, _fields()[kind], (), problems), problems


def _object(
    value: Mapping[str, Any],
    name: str,
    fields: Mapping[str, str],
    steps: tuple[str | int, ...],
    problems: list[Misshapen],
) -> dict[str, Any]:
    shown = {}
    for key, each in value.items():
        here = (*steps, key)
        if key not in fields:
            problems.append(Misshapen(here, f"{name} has no field {key!r}", unknown=True))
        elif each is not None:
            shown[key] = _value(each, fields[key], here, problems)
    return shown


def _value(value: Any, type: str, steps: tuple[str | int, ...], problems: list[Misshapen]) -> Any:
    def wrong(wanted: str) -> Any:
        problems.append(Misshapen(steps, f"{_shown(value)} is no {wanted}"))
        return value

    if type == "any":
        return value
    if type.startswith("["):
        if not isinstance(value, list):
            return wrong("list")
        return [_value(each, type[1:-1], (*steps, at), problems) for at, each in enumerate(value)]
    if not isinstance(value, Mapping) and (type.startswith("{") or type in _fields()):
        return wrong("object")
    if type.startswith("{"):
        return {
            key: _value(each, type[1:-1], (*steps, key), problems) for key, each in value.items()
        }
    if type in _fields():
        return _object(value, type, _fields()[type], steps, problems)
    if type == "quantity":
        return _quantity(value, steps, problems)
    fits = {
        "text": isinstance(value, str),
        "bool": isinstance(value, bool),
        "int": isinstance(value, int) and not isinstance(value, bool) and -_INT <= value < _INT,
        "time": isinstance(value, str) and bool(_TIME.fullmatch(value)),
    }
    return value if fits[type] else wrong(type)


def _quantity(value: Any, steps: tuple[str | int, ...], problems: list[Misshapen]) -> Any:
    number = isinstance(value, str | int | Decimal) and not isinstance(value, bool)
    try:
        if number:
            Quantity.parse(str(value))
            return str(value)
        problems.append(Misshapen(steps, f"{_shown(value)} is no quantity"))
    except ValueError as error:
        problems.append(Misshapen(steps, str(error)))
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
