"""Cases made of vectors: each id of fixtures/vectors/topology.toml becomes one, with the rule and
the reason that topology_rules.toml gives it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from conformance.deviceplugin.interface import DEVICEPLUGIN
from conformance.deviceplugin.vectors.answers import judge_answers
from conformance.deviceplugin.vectors.performing import perform
from conformance.deviceplugin.vectors.rows import (
    BucketsRow,
    HintsRow,
    MergeRow,
    RequestRow,
    SelectionRow,
    StartRow,
    Vector,
    rules,
    vectors,
)
from conformance.deviceplugin.vectors.selected import (
    choices_of,
    judge_request,
    judge_selection,
    judge_start,
)
from conformance.deviceplugin.vectors.staged import Play, plays_of
from conformance.engine.case import case
from conformance.engine.needs import AllOf, AnyOf, Feature, Need, Since
from conformance.engine.targets.revision import Revision
from conformance.kubelet.node import NodeUnderTest
from refimpl.node.choices import KubeletChoices

__all__ = ["cases_of"]

CaseFunction = Callable[[NodeUnderTest], None]

_RELEASES = [Revision(DEVICEPLUGIN.family, number) for number in DEVICEPLUGIN.revisions]
_TOLD = Feature("topology")
_RUNS = (Feature("pods"), Feature("pod-resources"))
_SOURCES: dict[type[Any], str] = {
    HintsRow: "kubelet: hints for devices",
    MergeRow: "kubelet: topology policies",
    StartRow: "kubelet: topology policies",
    BucketsRow: "kubelet: placement of devices",
    SelectionRow: "kubelet: choice of devices",
    RequestRow: "kubelet: choice of devices",
}


def cases_of(module: str, *ids: str) -> dict[str, CaseFunction]:
    """The cases of these ids by name, for the module to hold. Those that want the client configured
    alike follow one another, because a real one takes seconds to start."""
    functions = [_case_of(module, id) for id in sorted(ids, key=_configuration)]
    return {each.__name__: each for each in functions}


def _case_of(module: str, id: str) -> CaseFunction:
    rule = rules()[id]
    rows = vectors()[id]

    def judge(node: NodeUnderTest) -> None:
        plays = _plays(id, node.revision)
        if plays is None or "topology" in node.able:
            for row in rows:
                _judge(node, row)
        else:
            perform(node, plays)

    words = re.sub(r"\W+", "_", rule.rule.strip())
    judge.__name__ = judge.__qualname__ = f"test_{words}"
    judge.__module__, judge.__doc__ = module, rule.why
    return case(id, _SOURCES[type(rows[0])], needs=_needs(id, rows))(judge)


def _needs(id: str, rows: Sequence[Vector]) -> list[Need]:
    match rows[0]:
        case StartRow():
            return [Feature("numa"), Feature("restart")]
        case RequestRow():
            return [*_RUNS, Feature("numa")]
        case SelectionRow(cpu=cpu, recorded=recorded):
            return [*_RUNS, *[Feature("numa")] * bool(cpu), *[Feature("restart")] * bool(recorded)]
    return [_placement(id)]


def _placement(id: str) -> Need:
    """The client tells what it makes of the rows of an id, or shows it by the calls for a pod: in
    releases in which devices can make such hints."""
    since = next((each for each in _RELEASES if _plays(id, each) is not None), None)
    if since is None:
        return _TOLD
    newer = [] if since == _RELEASES[0] else [Since(since.number)]
    return AnyOf((_TOLD, AllOf((*newer, *_RUNS, Feature("numa")), "numa")))


def _judge(node: NodeUnderTest, row: Vector) -> None:
    match row:
        case SelectionRow():
            judge_selection(node, row)
        case RequestRow():
            judge_request(node, row)
        case StartRow():
            judge_start(node, row)
        case _:
            judge_answers(row, node.client.topology, node.revision)


def _plays(id: str, release: Revision) -> list[Play] | None:
    """Those of all rows of an id; None if one of them cannot be shown."""
    each_row = [plays_of(row, release) for row in vectors()[id]]
    return None if None in each_row else [play for plays in each_row for play in plays or ()]


def _configuration(id: str) -> tuple[list[str], str]:
    """What to sort by."""
    wanted: set[str] = set()
    for row in vectors()[id]:
        if isinstance(row, SelectionRow | RequestRow):
            wanted.add(_text(choices_of(row)))
        else:
            wanted |= {_text(play.choices) for play in plays_of(row, _RELEASES[-1]) or ()}
    return sorted(wanted), id


def _text(choices: KubeletChoices) -> str:
    return f"{len(choices.nodes)} {choices.nodes} {choices.policy} {choices.scope}"
