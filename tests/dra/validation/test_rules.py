"""Rules that no vector shows. Source: rows DRA-VAL of the catalogue."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.dra.validation import validate, validate_status

TERMS = "spec.nodeSelector.nodeSelectorTerms"
POLICED = {"value": "1", "requestPolicy": {"default": "1"}}


def slice_with(**spec: Any) -> dict[str, Any]:
    """A ResourceSlice."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    whole = {"driver": "drv.example.com", "pool": pool, "nodeName": "n1", **spec}
    return {"kind": "ResourceSlice", "spec": whole}


def term(**rule: Any) -> dict[str, Any]:
    """A term of a node selector."""
    return {"matchExpressions": [rule]}


def said(object: dict[str, Any]) -> list[str]:
    """Fields with reasons."""
    return [f"{each.field}: {each.reason.value}" for each in validate(object)]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"nodeName": None}, "spec: FieldValueRequired"),
        ({"allNodes": True}, "spec: FieldValueInvalid"),
        ({"devices": [{"name": ""}]}, "spec.devices[0].name: FieldValueRequired"),
        (
            {"devices": [{"name": "a", "capacity": {"m": POLICED}}]},
            "spec.devices[0].capacity[m].requestPolicy: FieldValueForbidden",
        ),
        (
            {"devices": [{"name": "a", "taints": [{"key": "", "effect": "None"}]}]},
            "spec.devices[0].taints[0].key: FieldValueRequired",
        ),
    ],
)
def test_a_slice_is_refused(spec: dict[str, Any], wanted: str) -> None:
    """With the place."""
    assert said(slice_with(**spec)) == [wanted]


@pytest.mark.parametrize(
    ("terms", "wanted"),
    [
        ([], [f"{TERMS}: FieldValueInvalid"]),
        ([term(key="a", operator="Exists")] * 2, [f"{TERMS}: FieldValueInvalid"]),
        (
            [term(key="a b", operator="In")],
            [
                f"{TERMS}[0].matchExpressions[0].values: FieldValueRequired",
                f"{TERMS}[0].matchExpressions[0].key: FieldValueInvalid",
            ],
        ),
    ],
)
def test_a_node_selector_of_a_slice_has_one_term(terms: list[Any], wanted: list[str]) -> None:
    """And what core/v1 demands of it."""
    spec = {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": terms}}
    assert said(slice_with(**spec)) == wanted


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["2", "1"], "validValues[1]: FieldValueInvalid"),
        (["1Gi", "1024Mi"], "validValues[1]: FieldValueDuplicate"),
    ],
)
def test_values_of_a_policy_rise(values: list[str], wanted: str) -> None:
    """Equal ones are there twice, however they are written."""
    policy = {"default": values[0], "validValues": values}
    capacity = {"m": {"value": "8Gi", "requestPolicy": policy}}
    device = {"name": "a", "allowMultipleAllocations": True, "capacity": capacity}
    assert said(slice_with(devices=[device])) == [
        f"spec.devices[0].capacity[m].requestPolicy.{wanted}"
    ]


def test_no_consumer_comes_while_a_claim_is_deleted() -> None:
    """One that is there may stay."""
    allocation = {"devices": {"results": []}}
    consumer = {"resource": "pods", "name": "p", "uid": "u"}
    before = {
        "kind": "ResourceClaim",
        "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"devices": {}},
        "status": {"allocation": allocation, "reservedFor": [consumer]},
    }
    status = {"allocation": allocation, "reservedFor": [consumer]}
    assert validate_status(status, before) == []
    status["reservedFor"] = [consumer, {**consumer, "uid": "v"}]
    (problem,) = validate_status(status, before)
    assert (problem.field, problem.reason) == ("status.reservedFor", "FieldValueForbidden")
