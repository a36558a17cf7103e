"""What kube-apiserver 1.37.2 said of objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refimpl.dra.validation import ALPHA, Gates, validate, validate_status

VECTORS = json.loads(
    (Path(__file__).parents[3] / "fixtures/vectors/dra-validation.json").read_text()
)
# Admission looks at the node for this one; a validator of objects does not know it.
OF_NODES = {"DRA-VAL-063"}


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


def name(vector: dict[str, Any]) -> str:
    """Row, kind and note."""
    row = vector.get("id", "none").removeprefix("DRA-VAL-")
    return f"{row}-{vector['object']['kind']}-{vector.get('note', '')}"[:70]


@pytest.mark.parametrize("vector", VECTORS, ids=name)
def test_an_api_server_says_the_same(vector: dict[str, Any]) -> None:
    """Every cause with its field and reason, as often as there."""
    object = written_out(vector["object"])
    before = written_out(vector["before"]) if "before" in vector else None
    if before is not None:
        before.setdefault("kind", object["kind"])
    if vector.get("via") == "status":
        problems = validate_status(object.get("status") or {}, before)
    else:
        problems = validate(
            object,
            before=before,
            gates=ALPHA if vector.get("gates") == "alpha" else Gates(),
            admin_access=object.get("metadata", {}).get("namespace") == "adm",
        )
    causes = vector.get("causes") or [[vector.get("field"), vector.get("reason")]]
    wanted = [] if vector["accepted"] or vector.get("id") in OF_NODES else sorted(causes)
    assert sorted([each.field, each.reason.value] for each in problems) == wanted
    assert all(each.message for each in problems)
