"""Allocation beside Kubernetes' own allocator, in turns: a claim on every node of a cluster.

Go is given nodes and slices decoded; both index the slices, look at each node once and find the
last device of it.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from refimpl.dra.allocation import Node, Slices, allocate
from tests.live.peers import built_dra_allocator

DEVICES, TURNS = 8, 5
DRIVER = "gpu.example.com"
SMALL, LARGE, GROWN = 100, 1000, 5000
SLOWER, GROWTH = 3.0, 1.5


def main() -> int:
    """100 nodes within three times of Go's time a node, 1,000 faster than Go; linear to 5,000."""
    program = built_dra_allocator()
    failed = 0
    figures: dict[int, float] = {}
    for nodes, limit in ((SMALL, SLOWER), (LARGE, 1.0)):
        slices, names = _cluster(nodes)
        own, theirs = [], []
        for _ in range(TURNS):
            own.append(_ours(slices, names))
            theirs.append(_go(program, slices, names))
        figures[nodes] = statistics.median(own)
        go = statistics.median(theirs)
        fine = figures[nodes] <= go * limit
        failed += not fine
        print(
            f"{nodes} nodes of {DEVICES} devices: ours {figures[nodes] * 1e6:.0f} us a node,"
            f" Go {go * 1e6:.0f} us, at most {limit:g} times: {'ok' if fine else 'TOO SLOW'}"
        )
    slices, names = _cluster(GROWN)
    grown = statistics.median(_ours(slices, names) for _ in range(TURNS))
    fine = grown <= figures[SMALL] * GROWTH
    print(f"{GROWN} nodes: ours {grown * 1e6:.0f} us a node: {'ok' if fine else 'NOT LINEAR'}")
    return 1 if failed or not fine else 0


def _cluster(nodes: int) -> tuple[list[dict[str, Any]], list[str]]:
    names = [f"node-{number}" for number in range(nodes)]
    return [_slice(name) for name in names], names


def _slice(node: str) -> dict[str, Any]:
    devices = [
        {"name": f"gpu-{n}", "attributes": {"model": {"string": "A" if n == DEVICES - 1 else "B"}}}
        for n in range(DEVICES)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": node, "devices": devices}
    return {"metadata": {"name": f"slice-{node}"}, "spec": spec}


def _of(expression: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": expression}}]


CLASS = {"metadata": {"name": "gpu"}, "spec": {"selectors": _of(f'device.driver == "{DRIVER}"')}}
MODEL = _of(f'device.attributes["{DRIVER}"].model == "A"')
EXACTLY = {
    "deviceClassName": "gpu",
    "allocationMode": "ExactCount",
    "count": 1,
    "selectors": MODEL,
}
CLAIM = {
    "metadata": {"name": "claim"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": EXACTLY}]}},
}


def _ours(slices: list[dict[str, Any]], names: list[str]) -> float:
    """Seconds a node."""
    gc.collect()
    begin = time.perf_counter()
    index = Slices(slices)
    for name in names:
        assert allocate([CLAIM], Node(name), index, {"gpu": CLASS}).allocations
    return (time.perf_counter() - begin) / len(names)


def _go(program: Path, slices: list[dict[str, Any]], names: list[str]) -> float:
    nodes = [{"metadata": {"name": name}} for name in names]
    asked = {"nodes": nodes, "slices": slices, "classes": [CLASS], "claims": [CLAIM], "taken": []}
    line = json.dumps(asked) + "\n"
    done = subprocess.run([program], input=line, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert all(each["outcome"] == "allocated" for each in said["nodes"]), said["nodes"][0]
    return float(said["seconds"]) / len(names)
