"""Vectors of device placement as questions to a client that answers them, as
`refimpl.deviceplugin.topology` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.deviceplugin.vectors.rows import (
    POLICIES,
    BucketsRow,
    HintsRow,
    MergeRow,
    StagedResource,
    split_outcome,
)
from conformance.engine.targets.revision import Revision
from conformance.engine.verdict import expect

__all__ = ["AskClient", "judge_answers"]

AskClient = Callable[[str, Mapping[str, Any]], Any]
"""A question and its values -> the answer."""


def judge_answers(
    vector: HintsRow | MergeRow | BucketsRow, ask: AskClient, release: Revision
) -> None:
    """Raises Broken where an answer is not that of a release of Kubernetes."""
    match vector:
        case HintsRow():
            _judge_hints(vector, ask, release)
        case MergeRow():
            _judge_merge(vector, ask, release)
        case BucketsRow():
            _judge_buckets(vector, ask)


def _judge_hints(vector: HintsRow, ask: AskClient, release: Revision) -> None:
    hints = _hints_of(vector.stage, ask, vector.reusable)
    rule = f"hints for {_about(vector.stage, vector.reusable)}"
    if not vector.masks:
        wanted = vector.wanted(release)
        expect(_same(hints, wanted), rule, wanted=wanted, got=_text(hints))
        return
    preferred = [hint for hint in hints or () if hint.endswith("+")]
    expect(
        len({*(hints or ())}) == vector.masks and _same(preferred, vector.preferred),
        rule,
        wanted=f"{vector.masks} hints, of which preferred {vector.preferred}",
        got=_text(hints),
    )


def _judge_merge(vector: MergeRow, ask: AskClient, release: Revision) -> None:
    providers = [
        {name: _listed(hints) for name, hints in provider.items()} for provider in vector.providers
    ]
    if vector.devices:
        stage = StagedResource(devices=vector.devices, nodes=vector.nodes, request=vector.request)
        providers.append({"devices": _hints_of(stage, ask)})
    for policy in POLICIES:
        values = {"nodes": vector.nodes, "distances": vector.distances, "options": vector.options}
        placed = ask("merge", {**values, "policy": policy, "providers": providers})
        hint, admitted = split_outcome(vector.outcome(policy, release))
        expect(
            placed["admitted"] == admitted and hint in ("", placed["hint"]),
            f"placement under {policy}, and A for admitted, of {_wishes(providers)}",
            wanted=vector.outcome(policy, release),
            got=f"{placed['hint']} {'A' if placed['admitted'] else 'R'}",
        )


def _judge_buckets(vector: BucketsRow, ask: AskClient) -> None:
    providers = [{"cpu": _listed(vector.cpu)}, {"devices": _hints_of(vector.stage, ask)}]
    values = {"nodes": vector.nodes, "distances": [], "options": {}, "providers": providers}
    placed = ask("merge", {**values, "policy": "best-effort"})["hint"]
    admitted = ask("merge", {**values, "policy": "restricted"})["admitted"]
    expect(
        placed == vector.hint and admitted == (vector.restricted == "A"),
        f"placement, and A if restricted admits it, of {_wishes(providers)}",
        wanted=f"{vector.hint} {vector.restricted}",
        got=f"{placed} {'A' if admitted else 'R'}",
    )
    values = {"devices": vector.devices, "free": vector.stage.free, "hint": placed}
    buckets = ask("buckets", values)
    names = ("aligned", "unaligned", "unplaced")
    wanted = {name: sorted(getattr(vector, name).split()) for name in names}
    rule = f"where {_about(vector.stage)} lie after placement {placed}"
    expect(buckets == wanted, rule, wanted=wanted, got=buckets)


def _hints_of(stage: StagedResource, ask: AskClient, reusable: str = "") -> list[str] | None:
    values = {
        "nodes": stage.nodes,
        "devices": stage.devices,
        "unhealthy": stage.unhealthy.split(),
        "in_use": stage.in_use.split(),
        "reusable": reusable.split(),
        "request": stage.request,
    }
    hints: list[str] | None = ask("hints", values)
    return hints


def _about(stage: StagedResource, reusable: str = "") -> str:
    devices = ", ".join(f"{name} on {nodes or 'none'}" for name, nodes in stage.devices.items())
    states = {"in use": stage.in_use, "unhealthy": stage.unhealthy, "to be reused": reusable}
    rest = "".join(f"; {state}: {words}" for state, words in states.items() if words)
    return f"{stage.request} of {devices} (nodes {[*stage.nodes]}{rest})"


def _wishes(providers: list[dict[str, list[str] | None]]) -> str:
    named = [f"{name} {_text(hints)}" for each in providers for name, hints in each.items()]
    return "; ".join(named) or "no wishes"


def _listed(hints: str) -> list[str] | None:
    if hints == "nil":
        return None
    return [] if hints == "none" else hints.split()


def _same(hints: list[str] | None, wanted: str) -> bool:
    listed = _listed(wanted)
    if hints is None or listed is None:
        return hints is listed
    return sorted(hints) == sorted(listed)


def _text(hints: list[str] | None) -> str:
    return "nil" if hints is None else " ".join(hints) or "none"
