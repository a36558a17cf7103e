"""Our expressions beside Kubernetes' own compiler and evaluator, expression by expression."""

from __future__ import annotations

import json
import random
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from refimpl.dra.cel import Device, EvaluationError, ExpressionError, compiled, selector
from tests.live.dra.expressions import expression

DRIVER = "drv.example.com"
SAID = tomllib.loads((Path(__file__).parents[2] / "dra/cel/expressions.toml").read_text())
DEVICE = {
    "name": "d",
    "attributes": {
        "model": {"string": "X"},
        "index": {"int": 3},
        "ver": {"version": "1.2.3"},
        "flag": {"bool": True},
        f"{DRIVER}/q": {"int": 1},
    },
    "capacity": {"mem": {"value": "80Gi"}, "half": {"value": "1500m"}},
}
LISTS = {"list": {"strings": ["a", "b"]}, "nums": {"ints": [3, 1, 2]}}
WITH_LISTS = {**DEVICE, "attributes": {**DEVICE["attributes"], **LISTS}}  # type: ignore[dict-item]
SEEDS, EACH, DEEPEST = range(4), 1500, 4

# Where Go's runtime shows through, and no rule of Kubernetes stands behind it: a key of a map that
# cannot be hashed, and the order of its maps.
BEYOND = ("unhashable type", "unsupported key type")


def kubernetes(program: Path, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What it answers to each."""
    lines = "".join(json.dumps({"driver": DRIVER, **each}) + "\n" for each in asked)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(asked: dict[str, Any]) -> dict[str, str]:
    """What we say, in the same words."""
    lists = bool(asked["lists"])
    try:
        told = compiled(asked["expression"], list_attributes=lists)
        if told.type.name not in ("bool", "dyn" if lists else "any"):
            return {"refused": f"a {told.type}"}
    except ExpressionError as error:
        return {"refused": str(error)}
    said = {"type": str(told.type), "cost": str(told.cost)}
    try:
        matches = told.matches(Device.of(DRIVER, asked["device"]))
        return {**said, "result": str(matches).lower()}
    except EvaluationError as error:
        return {**said, "error": str(error)}


def alike(theirs: dict[str, Any], own: dict[str, str]) -> bool:
    """The same verdict, type, worst case and result; the words of errors may differ."""
    said = {**theirs, "type": theirs.get("type", "").replace("google.protobuf.Any", "any")}
    if any(part in str(each) for part in BEYOND for each in (theirs, own)):
        return True
    if "refused" in said or "refused" in own:
        return ("refused" in said) == ("refused" in own)
    parts = ("type", "cost", "result")
    return all(said.get(part) == own.get(part) for part in parts)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions_are_the_same_to_both(dra_cel: Path, seed: int) -> None:
    """Half of them with lists as attributes; their worst cases agree to the unit."""
    choices = random.Random(seed)
    asked = []
    for _ in range(EACH):
        lists = choices.random() < 0.5
        text = expression(choices, depth=choices.randint(1, DEEPEST))
        asked.append(
            {"expression": text, "lists": lists, "device": WITH_LISTS if lists else DEVICE}
        )
    different = [
        (each["expression"], theirs, own)
        for each, theirs in zip(asked, kubernetes(dra_cel, asked), strict=True)
        if not alike(theirs, own := ours(each))
    ]
    assert not different, min(different, key=lambda each: len(each[0]))


def test_what_our_tests_say_is_what_kubernetes_says(dra_cel: Path) -> None:
    """Every expression of tests/dra/cel/expressions.toml."""
    kinds = [(text, "true", True) for text in SAID["true"]]
    kinds += [(text, "error", True) for text in SAID["error"]]
    kinds += [(text, "refused", False) for text in SAID["refused"]]
    asked = [{"expression": text, "lists": lists, "device": WITH_LISTS} for text, _, lists in kinds]
    for (text, wanted, _), said in zip(kinds, kubernetes(dra_cel, asked), strict=True):
        got = "error" if "error" in said else said.get("result", "refused")
        assert got == wanted, (text, said)


def test_what_is_refused_as_new_is_evaluated_when_it_is_stored(dra_cel: Path) -> None:
    """The cost limit is only asked of new expressions."""
    text = '["a", "b"].join("-") == "a-b"'
    with pytest.raises(ExpressionError):
        selector(text)
    (said,) = kubernetes(
        dra_cel, [{"expression": text, "lists": True, "stored": True, "device": DEVICE}]
    )
    assert said["result"] == "true"
    assert int(said["cost"]) == compiled(text, list_attributes=True).cost
