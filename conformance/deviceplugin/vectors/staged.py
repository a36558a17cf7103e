"""Vectors of device placement as plays: devices that make such hints, a pod, and the calls by which
a client shows where it placed the pod.

It asks the plugin what it prefers: among the devices on the nodes of the placement; where these are
too few, among all, and takes these in any case; where they are just enough, not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import msgspec

from conformance.deviceplugin.vectors.rows import (
    BucketsRow,
    HintsRow,
    MergeRow,
    StagedResource,
    Step,
    Vector,
    all_nodes,
    nodes_in,
    split_outcome,
    stages,
)
from conformance.engine.targets.revision import Revision
from refimpl.node.choices import KubeletChoices

__all__ = ["Play", "distances", "plays_of", "steps_of"]

OWN = "devices"
"""What the resource of a vector is called, beside those of others."""

_CLOSEST_SINCE = "1.28"


@attrs.frozen
class Play:
    """One pod on one configuration. `steps`: the calls that each plugin gets; None if the policy
    refuses the pod. `init`: what an init container asks for. `preferred`: what plugins prefer."""

    choices: KubeletChoices
    stages: Mapping[str, StagedResource]
    steps: Mapping[str, Sequence[Step]] | None
    init: Mapping[str, int] = attrs.field(factory=dict)
    preferred: Mapping[str, str] = attrs.field(factory=dict)


def plays_of(vector: Vector, release: Revision) -> list[Play] | None:
    """The plays that show a vector on a release of Kubernetes; None if no devices can."""
    match vector:
        case HintsRow():
            return _of_hints(vector, release)
        case MergeRow():
            return _of_merge(vector, release)
        case BucketsRow():
            return _of_buckets(vector, release)
    return None


def distances(nodes: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Nodes that are all equally far from one another."""
    return {node: tuple(10 if node == other else 20 for other in nodes) for node in nodes}


# -- plays of each kind ---------------------------------------------------------------------------


def _of_hints(vector: HintsRow, release: Revision) -> list[Play] | None:
    if vector.reusable:
        return _of_reuse(vector, release)
    hints = (vector.wanted(release) or vector.preferred).replace("none", "").split()
    preferred = [hint for hint in hints if hint.endswith("+") or hint == "nil"]
    parts = {OWN: vector.stage}
    if preferred:
        # Where all that is free is taken anyway, only this policy tells a node from a pair.
        exact = len(vector.stage.free) == vector.request and len(nodes_in(preferred[0]) or ()) == 1
        policy = "single-numa-node" if exact else "restricted"
        return [_play(policy, vector.nodes, parts, preferred[0])]
    lenient = _play("best-effort", vector.nodes, parts, (hints or [all_nodes(vector.nodes)])[0])
    refusal = _play("restricted", vector.nodes, parts, None)
    return [refusal, lenient] if len(vector.stage.free) >= vector.request else [refusal]


def _of_reuse(vector: HintsRow, release: Revision) -> list[Play] | None:
    """An init container is led to the node of the device by a resource that is free there only. The
    hints of what it leaves show in a resource of the next container that either node has."""
    node = vector.devices[vector.reusable][0]
    parts = {
        OWN: vector.stage,
        "leads": _staged(f"{{{node}}}+ {{0,1}}-", vector.nodes, release),
        "shows": _staged("{0}+ {1}+ {0,1}-", vector.nodes, release),
    }
    staged = {name: stage for name, stage in parts.items() if stage}
    led = msgspec.structs.replace(staged["leads"], request=0)
    again = Step(allocate=1, includes=vector.reusable)
    near = " ".join(name for name, nodes in vector.devices.items() if node in nodes)
    return [
        Play(
            KubeletChoices(policy="restricted", nodes=distances(vector.nodes)),
            {**staged, "leads": led},
            {
                OWN: [Step(available=near, size=1), again, again],
                "leads": [Step(allocate=1, includes=" ".join(led.free))],
                "shows": steps_of(staged["shows"], f"{{{node}}}+"),
            },
            init={OWN: 1, "leads": 1},
            preferred={OWN: vector.reusable},
        )
    ]


def _of_merge(vector: MergeRow, release: Revision) -> list[Play] | None:
    parts: dict[str, StagedResource] = {}
    if vector.devices:
        parts[OWN] = StagedResource(devices=vector.devices, request=vector.request)
    for name, hints in [pair for each in vector.providers for pair in each.items()]:
        if (stage := _staged(hints, vector.nodes, release)) is None:
            return None
        parts[name] = stage
    if vector.distances and not release.since(_CLOSEST_SINCE):
        return None
    rows = dict(zip(vector.nodes, map(tuple, vector.distances), strict=False))
    played = []
    for policy in _decisive(vector):
        hint, admitted = split_outcome(vector.outcome(policy, release))
        play = _play(policy, vector.nodes, parts, hint if admitted else None)
        nodes = rows or play.choices.nodes
        choices = attrs.evolve(play.choices, nodes=nodes, options=vector.options)
        played.append(attrs.evolve(play, choices=choices))
    return played


def _decisive(vector: MergeRow) -> list[str]:
    """A policy more costs a start of the client: what restricted refuses shows its placement under
    best-effort, what it admits may be refused, or placed nowhere, on a single node."""
    if not split_outcome(vector.restricted)[1]:
        return ["restricted", "best-effort"]
    return ["restricted"] + ["single-numa-node"] * vector.single.startswith("nil")


def _of_buckets(vector: BucketsRow, release: Revision) -> list[Play] | None:
    parts = {OWN: vector.stage}
    if vector.cpu != "nil":
        beside = _staged(vector.cpu, vector.nodes, release)
        if beside is None:
            return None
        parts["cpu"] = beside
    lenient = _play("best-effort", vector.nodes, parts, vector.hint)
    refusal = _play("restricted", vector.nodes, parts, None)
    return [lenient] if vector.restricted == "A" else [lenient, refusal]


def _play(
    policy: str, nodes: Sequence[int], parts: Mapping[str, StagedResource], hint: str | None
) -> Play:
    choices = KubeletChoices(policy=policy, nodes=distances(nodes))
    if hint is None:
        return Play(choices, parts, None)
    return Play(choices, parts, {name: steps_of(part, hint) for name, part in parts.items()})


def _staged(hints: str, nodes: Sequence[int], release: Revision) -> StagedResource | None:
    for stage in stages():
        same = (stage.hints, stage.nodes) == (hints, tuple(nodes))
        if same and release.since(stage.since):
            return stage
    return None


# -- what a placement looks like ------------------------------------------------------------------


def steps_of(stage: StagedResource, hint: str) -> list[Step]:
    """The calls for a resource whose placement is that of the hint."""
    aligned, unaligned, unplaced = _split(stage, nodes_in(hint))
    if stage.request < len(aligned):
        others = " ".join((*unaligned, *unplaced))
        question = Step(available=" ".join(aligned), size=stage.request)
        return [question, Step(allocate=stage.request, excludes=others)]
    if stage.request == len(aligned):
        return [Step(allocate=stage.request, includes=" ".join(aligned))]
    question = Step(available=" ".join(stage.free), must=" ".join(aligned), size=stage.request)
    enough = stage.request <= len(aligned) + len(unaligned)
    first = aligned if enough else [*aligned, *unaligned]
    spared = " ".join(unplaced) if enough else ""
    return [question, Step(allocate=stage.request, includes=" ".join(first), excludes=spared)]


def _split(
    stage: StagedResource, nodes: Sequence[int] | None
) -> tuple[list[str], list[str], list[str]]:
    """Free devices on these nodes, on others, and on none."""
    free = stage.free
    if nodes is None or not any(stage.devices.values()):
        return [], [], free
    unplaced = [name for name in free if not stage.devices[name]]
    aligned = [name for name in free if {*stage.devices[name]} & {*nodes}]
    return aligned, [name for name in free if name not in {*aligned, *unplaced}], unplaced
