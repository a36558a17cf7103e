"""What kube-apiserver 1.37.2 said of objects."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.dra.validation import ALPHA, Gates, validate, validate_status
from tests.dra.vectors import vectors, written_out

VECTORS = vectors("dra-validation")
# Admission looks at the node for this one; a validator of objects does not know it.
OF_NODES = {"DRA-VAL-063"}


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
