"""Cases made of vectors: each id of fixtures/vectors/topology.toml becomes one, with the rule and
the reason that topology_rules.toml gives it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from conformance.deviceplugin.vectors.asked import judge_answers
from conformance.deviceplugin.vectors.performing import perform
from conformance.deviceplugin.vectors.selected import (
    choices_of,
    judge_request,
    judge_selection,
    judge_start,
)
from conformance.deviceplugin.vectors.staged import Play, plays_of
from conformance.deviceplugin.vectors.vectors import (
    Buckets,
    Hints,
    Merge,
    Request,
    Selection,
    Start,
    Vector,
    rules,
    vectors,
)
from conformance.engine.case import Need, case
from conformance.kubelet.needs import Able, minor
from conformance.kubelet.node import NodeUnderTest
from refimpl.node.choices import KubeletChoices

__all__ = ["Placeable", "cases_of"]

Judge = Callable[[NodeUnderTest], None]

_NEWEST = 37
_SOURCES: dict[type[Any], str] = {
    Hints: "kubelet: hints for devices",
    Merge: "kubelet: topology policies",
    Start: "kubelet: topology policies",
    Buckets: "kubelet: placement of devices",
    Selection: "kubelet: choice of devices",
    Request: "kubelet: choice of devices",
}


@attrs.frozen
class Placeable:
    """The client tells what it makes of a row of vectors, or shows it: where devices can make such
    hints, by the calls for a pod."""

    id: str

    @property
    def label(self) -> str:
        """The need in a word."""
        return "topology or numa"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        client = target.client
        if (silent := Able("topology").unmet(target)) is None:
            return None
        if _plays(self.id, minor(client.profile)) is None:
            return f"{silent}, and no devices have hints of which it would show what it makes"
        needs = (Able("pods"), Able("numa"), Able("pod-resources"))
        return next((reason for need in needs if (reason := need.unmet(target))), None)


def cases_of(module: str, *ids: str) -> dict[str, Judge]:
    """The cases of these ids by name, for the module to hold. Those that want the client configured
    alike follow one another, because a real one takes seconds to start."""
    made = [_case_of(module, id) for id in sorted(ids, key=_configuration)]
    return {each.__name__: each for each in made}


def _case_of(module: str, id: str) -> Judge:
    rule = rules()[id]
    rows = vectors()[id]

    def judge(node: NodeUnderTest) -> None:
        plays = _plays(id, minor(node.profile))
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
    runs = [Able("pods"), Able("pod-resources")]
    match rows[0]:
        case Start():
            return [Able("numa"), Able("restart")]
        case Request():
            return [*runs, Able("numa")]
        case Selection(cpu=cpu, recorded=recorded):
            return [*runs, *[Able("numa")] * bool(cpu), *[Able("restart")] * bool(recorded)]
    return [Placeable(id)]


def _judge(node: NodeUnderTest, row: Vector) -> None:
    match row:
        case Selection():
            judge_selection(node, row)
        case Request():
            judge_request(node, row)
        case Start():
            judge_start(node, row)
        case _:
            judge_answers(row, node.client.topology, minor(node.profile))


def _plays(id: str, release: int) -> list[Play] | None:
    """Those of all rows of an id; None if one of them cannot be shown."""
    found = [plays_of(row, release) for row in vectors()[id]]
    return None if None in found else [play for plays in found for play in plays or ()]


def _configuration(id: str) -> tuple[list[str], str]:
    """What to sort by."""
    wanted: set[str] = set()
    for row in vectors()[id]:
        if isinstance(row, Selection | Request):
            wanted.add(_text(choices_of(row)))
        else:
            wanted |= {_text(play.choices) for play in plays_of(row, _NEWEST) or ()}
    return sorted(wanted), id


def _text(choices: KubeletChoices) -> str:
    return f"{len(choices.nodes)} {choices.nodes} {choices.policy} {choices.scope}"
