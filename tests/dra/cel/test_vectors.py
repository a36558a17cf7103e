"""What kube-apiserver and kube-scheduler 1.37.2 made of expressions."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.dra.cel import (
    Device,
    EvaluationError,
    ExpressionError,
    TooExpensive,
    compiled,
    selector,
)
from tests.dra.vectors import vectors, written_out

VECTORS = vectors("dra-cel")


@pytest.mark.parametrize("gate", [False, True], ids=["", "lists"])
@pytest.mark.parametrize(
    "vector", VECTORS, ids=lambda vector: written_out(vector["expression"])[:60]
)
def test_an_api_server_takes_and_refuses_the_same(vector: dict[str, Any], gate: bool) -> None:
    """What is too expensive or too long is refused as that."""
    key = "compiles_with_list_attributes" if gate else "compiles"
    if key not in vector:
        return
    expression = written_out(vector["expression"])
    if vector[key]:
        selector(expression, list_attributes=gate)
        return
    with pytest.raises(ExpressionError) as refused:
        selector(expression, list_attributes=gate)
    costly = vector.get("reason") in ("FieldValueForbidden", "FieldValueTooLong")
    assert isinstance(refused.value, TooExpensive) == costly


@pytest.mark.parametrize(
    "vector",
    [vector for vector in VECTORS if "run" in vector],
    ids=lambda vector: written_out(vector["expression"])[:60],
)
def test_a_scheduler_says_the_same_of_a_device(vector: dict[str, Any], device: Device) -> None:
    """It takes stored expressions, to which attributes may be lists."""
    try:
        matches = compiled(written_out(vector["expression"]), list_attributes=True).matches(device)
        said = "match" if matches else "no match"
    except EvaluationError:
        said = "runtime error"
    assert said == vector["run"]
