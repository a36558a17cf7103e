"""The shorthand of fixtures/vectors/dra-*.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["vectors", "written_out"]


def vectors(name: str) -> list[dict[str, Any]]:
    """The lines of one file."""
    path = Path(__file__).parents[2] / f"fixtures/vectors/{name}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


def written_out(value: Any) -> Any:
    """{"$times": n, "item": x} in a list is n items, # the number; {"$text": …} a long text."""
    if isinstance(value, list):
        return [item for each in value for item in _items(each)]
    if isinstance(value, dict):
        if "$text" in value:
            before, part, count, after = value["$text"]
            return before + part * count + after
        return {key: written_out(each) for key, each in value.items()}
    return value


def _items(value: Any) -> list[Any]:
    if not isinstance(value, dict) or "$times" not in value:
        return [written_out(value)]
    first = value.get("from", 0)
    item = written_out(value["item"])
    return [_numbered(item, str(first + number)) for number in range(value["$times"])]


def _numbered(value: Any, number: str) -> Any:
    if isinstance(value, str):
        return value.replace("#", number)
    if isinstance(value, list):
        return [_numbered(each, number) for each in value]
    if isinstance(value, dict):
        return {_numbered(key, number): _numbered(each, number) for key, each in value.items()}
    return value
