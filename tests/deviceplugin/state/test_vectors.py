"""All vectors of fixtures/vectors/topology.toml, each against the state and nothing else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.state import bitmask
from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.effects import Allocate, GetPreferredAllocation, WriteCheckpoint
from refimpl.deviceplugin.state.hints import Hint, Hints, resource_hints
from refimpl.deviceplugin.state.merge import JUDGED, POLICIES, Merged, Policy, policy_of
from refimpl.deviceplugin.state.models import Container, Device, Pod
from refimpl.deviceplugin.state.records import Record
from refimpl.deviceplugin.state.scopes import pod_request
from refimpl.deviceplugin.state.select import split
from refimpl.wire.status import Code, Refused

R = "example.com/gpu"
FILE = Path(__file__).parents[3] / "fixtures" / "vectors" / "topology.toml"
TABLE = tomllib.loads(FILE.read_text())
VECTORS = [TABLE["layouts"].get(row.get("layout"), {}) | row for row in TABLE["vector"]]


def _name(vector: dict[str, Any]) -> str:
    return f"{vector['id']} {vector.get('why', '')}".strip()


@pytest.mark.parametrize("vector", VECTORS, ids=_name)
def test_a_vector_comes_out_as_written(vector: dict[str, Any], kubelet: Any) -> None:
    """Placement decides which pods a node takes; these numbers are what real kubelets decide."""
    {
        "hints": _judge_hints,
        "merge": _judge_merge,
        "start": _judge_start,
        "buckets": _judge_buckets,
        "pod": lambda v: _judge_pod(v, kubelet),
        "request": _judge_request,
    }[vector["kind"]](vector)


def test_no_vector_is_missing() -> None:
    """The contract numbers them from 1 to 71."""
    assert {row["id"] for row in VECTORS} == {f"TM-{number:03}" for number in range(1, 72)}


# -- notation -------------------------------------------------------------------------------------


def _hint(text: str) -> Hint:
    nodes = re.findall(r"\d+", text)
    mask = None if text.startswith("nil") else bitmask.mask_of(map(int, nodes))
    return Hint(mask, text.endswith("+"))


def _hints(text: str) -> Hints:
    if text == "nil":
        return None
    return () if text == "none" else [_hint(word) for word in text.split()]


def _devices(vector: dict[str, Any]) -> Devices:
    unhealthy = vector.get("unhealthy", "").split()
    devices = Devices()
    devices.take(R, [
        Device(name, "Unhealthy" if name in unhealthy else "Healthy", tuple(nodes) or None)
        for name, nodes in vector["devices"].items()
    ])  # fmt: skip
    return devices


def _made(vector: dict[str, Any], release: str = "1.37") -> Hints:
    devices = _devices(vector)
    reusable = vector.get("reusable", "").split()
    busy = {*vector.get("in_use", "").split(), *reusable}
    return resource_hints(
        devices,
        settings_of(release),
        vector["nodes"],
        R,
        vector["request"],
        free=devices.healthy[R] - busy,
        reusable=reusable,
    )


def _containers(text: str) -> Pod:
    words = [word.split(":") for word in text.split()]
    made = [
        (kind, Container(name, {R: int(count)}, restartable=kind == "sidecar"))
        for name, kind, count in words
    ]
    app = tuple(container for kind, container in made if kind == "app")
    return Pod("u1", app, tuple(container for kind, container in made if kind != "app"))


# -- one kind each --------------------------------------------------------------------------------


def _judge_hints(vector: dict[str, Any]) -> None:
    now, before = _made(vector), _made(vector, "1.35")
    if "masks" in vector:
        assert now is not None
        assert len(now) == vector["masks"]
        assert {hint for hint in now if hint.preferred} == set(_hints(vector["preferred"]) or ())
        return
    assert _as_set(now) == _as_set(_hints(vector["hints"]))
    assert _as_set(before) == _as_set(_hints(vector.get("before", vector["hints"])))


def _as_set(hints: Hints) -> set[Hint] | None:
    return None if hints is None else {*hints}


def _judge_merge(vector: dict[str, Any]) -> None:
    for policy in JUDGED:
        _same_outcome(_merge(vector, policy), vector[policy])
    if "before" in vector:
        _same_outcome(_merge(vector, "best-effort", "1.35"), vector["before"])


def _merge(vector: dict[str, Any], policy: str, release: str = "1.37") -> Merged:
    providers = [
        {name: _hints(hints) for name, hints in provider.items()}
        for provider in vector["providers"]
    ]
    if "devices" in vector:
        providers.append({R: _made(vector, release)})
    distances = dict(enumerate(vector.get("distances", ())))
    options = {"prefer-closest-numa-nodes": str(bool(distances)).lower()}
    made = policy_of(policy, vector["nodes"], distances=distances, options=options)
    return made.merge(providers)


def _same_outcome(merged: Merged, wanted: str) -> None:
    hint, _, verdict = wanted.rpartition(" ")
    assert merged.admitted == (verdict == "A")
    assert not hint or merged.hint == _hint(hint)


def _judge_start(vector: dict[str, Any]) -> None:
    for policy in POLICIES:
        if vector[policy] == "refused":
            with pytest.raises(ValueError, match="max-allowable-numa-nodes"):
                policy_of(policy, vector["nodes"], options=vector["options"])
        else:
            assert policy_of(policy, vector["nodes"], options=vector["options"]).name == policy


def _judge_buckets(vector: dict[str, Any]) -> None:
    devices = _devices(vector)
    if "affinity" in vector:
        affinity = _hint(vector["affinity"]).mask
    else:
        providers = [{"cpu": _hints(vector.get("cpu", "nil"))}, {R: _made(vector)}]
        nodes = tuple(vector["nodes"])
        merged = Policy("best-effort", nodes).merge(providers)
        assert merged.hint == _hint(vector["hint"])
        admitted = Policy("restricted", nodes).merge(providers).admitted
        assert admitted == (vector["restricted"] == "A")
        affinity = merged.hint.mask
    free = devices.healthy[R] - {*vector.get("in_use", "").split()}
    buckets = split(devices.of(R), free, affinity)
    assert buckets.aligned == {*vector["aligned"].split()}
    assert buckets.unaligned == {*vector["unaligned"].split()}
    assert buckets.unplaced == {*vector["unplaced"].split()}


def _judge_request(vector: dict[str, Any]) -> None:
    assert pod_request(_containers(vector["containers"]), {R}) == {R: vector["peak"]}


def _judge_pod(vector: dict[str, Any], kubelet: Any) -> None:
    from_cpu = {"cpu": _hints(vector.get("cpu", "nil"))}
    policy = Policy("best-effort" if "cpu" in vector else "none", tuple(vector["nodes"]))
    desk = kubelet(policy=policy, wishes=lambda *_: [from_cpu])
    desk.plugin(_devices(vector).of(R).values(), preferred=True)
    _hold(desk, "other", vector.get("held", ""))
    _hold(desk, "u1", vector.get("recorded", ""))
    desk.preferred = [_answer(word) for word in vector["answers"]]
    admission = desk.admit(_containers(vector["containers"]))
    assert (admission.reason or None) == vector.get("refused")
    calls = [call for call in desk.calls if not isinstance(call, WriteCheckpoint)]
    assert len(calls) == len(vector["trace"])
    for call, wanted in zip(calls, vector["trace"], strict=True):
        _same_call(call, wanted)
    if "in_use" in vector:
        assert desk.in_use() == {*vector["in_use"].split()}
    assert not desk.preferred


def _hold(desk: Any, uid: str, ids: str) -> None:
    if ids:
        desk.tables.records.put(Record(uid, "app", R, {-1: tuple(ids.split())}))
        desk.tables.rebuild()
        desk.tables.pods[uid] = Pod(uid)


def _answer(word: str) -> Any:
    if word == "error":
        return Refused(Code.INTERNAL, "no preference to be had")
    return () if word == "nothing" else (tuple(word.split()),)


def _same_call(call: Any, wanted: dict[str, Any]) -> None:
    if "allocate" in wanted:
        assert isinstance(call, Allocate)
        assert len({*call.ids}) == len(call.ids) == wanted["allocate"]
        assert {*wanted.get("includes", "").split()} <= {*call.ids}
        assert not {*wanted.get("excludes", "").split()} & {*call.ids}
    else:
        assert isinstance(call, GetPreferredAllocation)
        assert {*call.available} == {*wanted["available"].split()}
        assert {*call.must_include} == {*wanted["must"].split()}
        assert call.size == wanted["size"]
