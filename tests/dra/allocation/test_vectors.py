"""What kube-scheduler 1.37.2 allocated."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from refimpl.dra.allocation import (
    AllocationError,
    Features,
    Node,
    NoSuchClass,
    Slices,
    allocate,
    taken_by,
)
from refimpl.dra.quantity import Quantity
from tests.dra.vectors import vectors, written_out

VECTORS = vectors("dra-allocation")
# The plugin of the scheduler decides it after the allocation: the node's own resources.
OF_THE_PLUGIN = {"DRA-ALLOC-121"}


def comparable(allocation: dict[str, Any] | None) -> dict[str, Any] | None:
    """Without what chance decides, and amounts by value."""
    shown = copy.deepcopy(allocation)
    for result in (shown or {}).get("devices", {}).get("results", ()):
        if "shareID" in result:
            result["shareID"] = "a share"
        for name, amount in result.get("consumedCapacity", {}).items():
            result["consumedCapacity"][name] = str(Quantity.parse(amount))
        for toleration in result.get("tolerations", ()):
            toleration.setdefault("operator", "Equal")
    return shown


def name(vector: dict[str, Any]) -> str:
    """Row and note."""
    return f"{(vector['id'] or 'none').removeprefix('DRA-ALLOC-')}-{vector.get('note', '')}"[:60]


@pytest.mark.parametrize("line", VECTORS, ids=name)
def test_a_scheduler_allocates_the_same(line: dict[str, Any]) -> None:
    """Pod after pod: the same outcome, devices, order, configuration and node selector."""
    vector = written_out(line)
    before = copy.deepcopy(vector)
    slices = Slices(vector["slices"], vector.get("rules", ()))
    classes = {each["metadata"]["name"]: each for each in vector["classes"]}
    claims = {each["metadata"]["name"]: each for each in vector["claims"]}
    alpha = vector.get("gates") == "alpha"
    features = Features(experimental=alpha, fractional=alpha)
    declares = alpha and "not declare" not in vector.get("note", "")
    node = Node("n1", {"region": "r1", "zone": "z1"}, declares=declares)
    outcomes, found = [], dict.fromkeys(claims)
    for pod in vector.get("pods", [list(claims)]):
        taken = taken_by([each for each in found.values() if each])
        asked = [claims[each] for each in pod]
        try:
            made = allocate(asked, node, slices, classes, taken=taken, features=features)
            fits = made.allocations is not None
            outcomes.append("allocated" if fits else "unschedulable")
            found.update(zip(pod, made.allocations or (), strict=False))
            assert fits or made.short
        except NoSuchClass:
            outcomes.append("unschedulable")
        except AllocationError:
            outcomes.append("error")
    assert vector == before, "what it is given is not changed"
    if vector["id"] in OF_THE_PLUGIN:
        return
    assert outcomes == vector["outcome"]
    assert {each: comparable(found[each]) for each in found} == {
        each: comparable(vector["allocation"][each]) for each in found
    }
