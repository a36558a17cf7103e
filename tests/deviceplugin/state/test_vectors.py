"""All vectors of fixtures/vectors/topology.toml, each against the state and nothing else."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from conformance.deviceplugin.vectors.answers import judge_answers
from conformance.deviceplugin.vectors.rows import (
    BucketsRow,
    HintsRow,
    MergeRow,
    RequestRow,
    SelectionRow,
    StartRow,
    Vector,
    nodes_in,
    vectors,
)
from conformance.deviceplugin.vectors.traces import Allocated, Asked, TracedCall, follows, in_words
from conformance.engine.targets.revision import Revision
from refimpl.deviceplugin import topology
from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.state.effects import Allocate, GetPreferredAllocation, WriteCheckpoint
from refimpl.deviceplugin.state.hints import Hint
from refimpl.deviceplugin.state.merge import TopologyPolicy, policy_of
from refimpl.deviceplugin.state.models import Container, Pod
from refimpl.deviceplugin.state.records import DeviceRecord
from refimpl.deviceplugin.state.scopes import pod_request
from refimpl.wire.status import Code, Refused

R = "example.com/gpu"
VECTORS = [row for rows in vectors().values() for row in rows]


def _name(vector: Vector) -> str:
    return f"{vector.id} {vector.why}".strip()


@pytest.mark.parametrize("vector", VECTORS, ids=_name)
def test_a_vector_comes_out_as_written(vector: Vector, kubelet: Any) -> None:
    """Placement decides which pods a node takes; these numbers are what real kubelets decide."""
    match vector:
        case HintsRow() | MergeRow() | BucketsRow():
            for release in ("1.35", "1.37"):
                ask = partial(topology.answer, settings=settings_of(release))
                judge_answers(vector, ask, Revision("kubernetes", release))
        case StartRow():
            _judge_start(vector)
        case SelectionRow():
            _judge_selection(vector, kubelet)
        case RequestRow():
            assert pod_request(_pod(vector.containers), {R}) == {R: vector.peak}


def test_no_vector_is_missing() -> None:
    """The contract numbers them from 1 to 71."""
    assert {*vectors()} == {f"TM-{number:03}" for number in range(1, 73)}


def _pod(text: str) -> Pod:
    words = [word.split(":") for word in text.split()]
    containers = [
        (kind, Container(name, {R: int(count)}, restartable=kind == "sidecar"))
        for name, kind, count in words
    ]
    app = tuple(container for kind, container in containers if kind == "app")
    return Pod("u1", app, tuple(container for kind, container in containers if kind != "app"))


# -- one kind each --------------------------------------------------------------------------------


def _judge_start(vector: StartRow) -> None:
    for policy, accepted in vector.accepted.items():
        if accepted:
            assert policy_of(policy, vector.nodes, options=vector.options).name == policy
        else:
            with pytest.raises(ValueError, match="max-allowable-numa-nodes"):
                policy_of(policy, vector.nodes, options=vector.options)


def _judge_selection(vector: SelectionRow, kubelet: Any) -> None:
    from_cpu = {"cpu": [_hint(word) for word in vector.cpu.split()] or None}
    policy = TopologyPolicy("best-effort" if vector.cpu else "none", tuple(vector.nodes))
    rig = kubelet(policy=policy, wishes=lambda *_: [from_cpu])
    rig.plugin(topology.device_list(vector.devices, vector.unhealthy.split()), preferred=True)
    _hold(rig, "other", vector.held)
    _hold(rig, "u1", vector.recorded)
    rig.preferred = [_answer(words) for words in vector.answers]
    admission = rig.admit(_pod(vector.containers))
    assert admission.reason == vector.refused
    trace = [_call(call) for call in rig.calls if not isinstance(call, WriteCheckpoint)]
    assert follows(trace, vector.trace), in_words(trace)
    if vector.in_use is not None:
        assert rig.in_use() == {*vector.in_use.split()}
    assert not rig.preferred


def _hint(text: str) -> Hint:
    return Hint(sum(1 << node for node in nodes_in(text) or ()), text.endswith("+"))


def _hold(rig: Any, uid: str, ids: str) -> None:
    if ids:
        rig.tables.records.put(DeviceRecord(uid, "app", R, {-1: tuple(ids.split())}))
        rig.tables.rebuild()
        rig.tables.pods[uid] = Pod(uid)


def _answer(words: str) -> Any:
    if words == "error":
        return Refused(Code.INTERNAL, "no preference to be had")
    return () if words == "nothing" else (tuple(words.split()),)


def _call(effect: GetPreferredAllocation | Allocate) -> TracedCall:
    if isinstance(effect, Allocate):
        return Allocated(effect.ids)
    return Asked(frozenset(effect.available), frozenset(effect.must_include), effect.size)
