"""Our allocator beside Kubernetes' own, problem by problem."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from refimpl.dra.allocation import AllocationError, Node, Outcome, Slices, allocate, taken_by
from refimpl.dra.quantity import Quantity
from tests.live.dra.problems import NODES, problem

SEEDS, EACH = range(4), 400
OBJECTS = [{"metadata": {"name": name, "labels": labels}} for name, labels in NODES.items()]


def comparable(allocation: dict[str, Any]) -> dict[str, Any]:
    """Without ids of shares and timestamps, amounts by value."""
    shown: dict[str, Any] = json.loads(json.dumps(allocation))
    shown.pop("allocationTimestamp", None)
    devices = shown.get("devices", {})
    for result in devices.get("results", ()):
        if "shareID" in result:
            result["shareID"] = "a share"
        for name, amount in result.get("consumedCapacity", {}).items():
            result["consumedCapacity"][name] = str(Quantity.parse(amount))
    return {**shown, "devices": {name: value for name, value in devices.items() if value}}


def ours(asked: dict[str, Any]) -> list[tuple[str, Any]]:
    """Outcome and allocations, node by node."""
    slices = Slices(asked["slices"])
    classes = {each["metadata"]["name"]: each for each in asked["classes"]}
    taken = taken_by(asked["taken"])
    found: list[tuple[str, Any]] = []
    for name, labels in NODES.items():
        try:
            node = Node(name, labels)
            made: Outcome = allocate(asked["claims"], node, slices, classes, taken=taken)
        except AllocationError as error:
            found.append(("error", str(error)))
            continue
        if made.allocations is None:
            found.append(("unschedulable", None))
        else:
            found.append(("allocated", [comparable(each) for each in made.allocations]))
    return found


def before(drawn: dict[str, Any]) -> list[dict[str, Any]]:
    """What claims before those of the pod have, one after the other."""
    slices, taken = Slices(drawn["slices"]), []
    classes = {each["metadata"]["name"]: each for each in drawn["classes"]}
    for claim in drawn["before"]:
        for name, labels in NODES.items():
            try:
                made = allocate([claim], Node(name, labels), slices, classes, taken=taken_by(taken))
            except AllocationError:
                continue
            if made.allocations:
                taken += made.allocations
                break
    return taken


def differences(theirs: dict[str, Any], own: list[tuple[str, Any]]) -> list[tuple[Any, Any]]:
    """Nodes on which the two do not agree; the words of errors may differ."""
    found = []
    for said, (outcome, allocations) in zip(theirs["nodes"], own, strict=True):
        shown = [comparable(each) for each in said.get("allocations", ())]
        agree = said["outcome"] == outcome and (outcome != "allocated" or shown == allocations)
        if not agree:
            found.append((said, (outcome, allocations)))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_random_problems_are_solved_alike(dra_allocator: Path, seed: int) -> None:
    """The same devices in the same order, the same configuration and node selector; the smallest
    problem that differs is shown."""
    choices = random.Random(seed)
    asked = []
    for _ in range(EACH):
        drawn = problem(choices)
        taken = before(drawn)
        asked.append({**drawn, "taken": taken, "nodes": OBJECTS})
    lines = "".join(json.dumps(each) + "\n" for each in asked)
    done = subprocess.run([dra_allocator], input=lines, capture_output=True, text=True, check=True)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    different = [
        (json.dumps(each), found)
        for each, theirs in zip(asked, replies, strict=True)
        if (found := differences(theirs, ours(each)))
    ]
    assert not different, (len(different), min(different, key=lambda each: len(each[0])))
