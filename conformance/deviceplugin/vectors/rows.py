"""The reference vectors of device placement, read from fixtures/vectors/topology.toml, which tells
their notation."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from conformance.engine import fixtures
from conformance.engine.targets.revision import Revision

__all__ = [
    "POLICIES",
    "BucketsRow",
    "HintsRow",
    "MergeRow",
    "RequestRow",
    "SelectionRow",
    "StagedResource",
    "StartRow",
    "Step",
    "Vector",
    "VectorRule",
    "all_nodes",
    "nodes_in",
    "of_kind",
    "rules",
    "split_outcome",
    "stages",
    "vectors",
]

DeviceNodes = dict[str, list[int]]
"""Id -> its NUMA nodes; empty: no topology."""

POLICIES = ("best-effort", "restricted", "single-numa-node")
"""Those that judge."""
BEARING = "1.36"
"""Release since which hints combine no nodes without devices."""


class StagedResource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A resource, how much of it is asked for, and the hints that this makes. `in_use` and
    `unhealthy` are words."""

    devices: DeviceNodes
    hints: str = ""
    nodes: tuple[int, ...] = (0, 1)
    in_use: str = ""
    unhealthy: str = ""
    request: int = 1
    since: str = "1.0"

    @property
    def free(self) -> list[str]:
        """Ids to be had."""
        taken = {*self.in_use.split(), *self.unhealthy.split()}
        return [name for name in self.devices if name not in taken]


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A call that a plugin gets: Allocate of so many ids where `allocate` is set, of which it
    `includes` these words and `excludes` those; else GetPreferredAllocation."""

    available: str = ""
    must: str = ""
    size: int = 0
    allocate: int = 0
    includes: str = ""
    excludes: str = ""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str
    why: str = ""
    nodes: tuple[int, ...] = (0, 1)


class HintsRow(_Row, frozen=True, kw_only=True, tag_field="kind", tag="hints"):
    """Hints of one resource: all of them, or how many and the preferred ones."""

    devices: DeviceNodes
    request: int
    in_use: str = ""
    unhealthy: str = ""
    reusable: str = ""
    hints: str = ""
    masks: int = 0
    preferred: str = ""
    before: str = ""

    def wanted(self, release: Revision) -> str:
        """The hints that a release has to make."""
        return self.hints if release.since(BEARING) else self.before or self.hints

    @property
    def stage(self) -> StagedResource:
        """The resource."""
        return StagedResource(
            devices=self.devices,
            nodes=self.nodes,
            in_use=self.in_use,
            unhealthy=self.unhealthy,
            request=self.request,
        )


class MergeRow(_Row, frozen=True, kw_only=True, tag_field="kind", tag="merge"):
    """What policies make of hints: those of the providers, and of a resource if there is one."""

    providers: list[dict[str, str]]
    devices: DeviceNodes = {}
    request: int = 0
    distances: list[list[int]] = []
    best_effort: str = msgspec.field(name="best-effort")
    restricted: str
    single: str = msgspec.field(name="single-numa-node")
    before: str = ""

    def outcome(self, policy: str, release: Revision) -> str:
        """What a release has to make of it."""
        if policy == "best-effort" and self.before and not release.since(BEARING):
            return self.before
        outcomes = (self.best_effort, self.restricted, self.single)
        return dict(zip(POLICIES, outcomes, strict=True))[policy]

    @property
    def options(self) -> dict[str, str]:
        """The options of the topology manager."""
        return {"prefer-closest-numa-nodes": "true"} if self.distances else {}


class StartRow(_Row, frozen=True, kw_only=True, tag_field="kind", tag="start"):
    """A configuration that is refused or accepted when a client starts."""

    options: dict[str, str]
    since: str = "1.0"
    none: str
    best_effort: str = msgspec.field(name="best-effort")
    restricted: str
    single: str = msgspec.field(name="single-numa-node")

    @property
    def accepted(self) -> dict[str, bool]:
        """Policy -> whether the client has to start."""
        outcomes = (self.none, self.best_effort, self.restricted, self.single)
        names = ("none", *POLICIES)
        return {name: word == "accepted" for name, word in zip(names, outcomes, strict=True)}


class BucketsRow(_Row, frozen=True, kw_only=True, tag_field="kind", tag="buckets"):
    """Free devices by where they lie after the placement; `cpu` are the hints of somebody else."""

    devices: DeviceNodes
    request: int
    in_use: str = ""
    cpu: str = "nil"
    hint: str
    aligned: str
    unaligned: str
    unplaced: str
    restricted: str

    @property
    def stage(self) -> StagedResource:
        """The resource."""
        return StagedResource(
            devices=self.devices, nodes=self.nodes, in_use=self.in_use, request=self.request
        )


class SelectionRow(_Row, frozen=True, kw_only=True, tag_field="kind", tag="pod"):
    """A pod, what the plugin answers when asked what it prefers, and the calls it gets."""

    devices: DeviceNodes
    containers: str
    answers: list[str]
    trace: list[Step]
    cpu: str = ""
    held: str = ""
    unhealthy: str = ""
    recorded: str = ""
    refused: str = ""
    in_use: str | None = None


class RequestRow(_Row, frozen=True, kw_only=True, tag_field="kind", tag="request"):
    """How many devices a pod holds at its peak."""

    containers: str
    peak: int


Vector = HintsRow | MergeRow | StartRow | BucketsRow | SelectionRow | RequestRow


class VectorRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the vectors of one id are about: a sentence, and why it matters to a user."""

    rule: str
    why: str


class _File(msgspec.Struct):
    layouts: dict[str, dict[str, Any]]
    stage: list[StagedResource]
    vector: list[dict[str, Any]]


@functools.cache
def _file() -> _File:
    text = (fixtures.folder() / "vectors" / "topology.toml").read_text()
    return msgspec.convert(tomllib.loads(text), _File)


@functools.cache
def vectors() -> dict[str, tuple[Vector, ...]]:
    """The vectors by id, in the order of the file."""
    rows: dict[str, tuple[Vector, ...]] = {}
    for row in _file().vector:
        laid_out = _file().layouts.get(row.get("layout", ""), {}) | row
        laid_out.pop("layout", None)
        vector: Vector = msgspec.convert(laid_out, Vector)
        rows[vector.id] = (*rows.get(vector.id, ()), vector)
    return rows


def of_kind(*kinds: type[Vector]) -> list[str]:
    """The ids of these kinds of vectors."""
    return [id for id, rows in vectors().items() if isinstance(rows[0], kinds)]


@functools.cache
def rules() -> Mapping[str, VectorRule]:
    """What each id is about (fixtures/vectors/topology_rules.toml)."""
    text = (fixtures.folder() / "vectors" / "topology_rules.toml").read_text()
    return msgspec.convert(tomllib.loads(text), dict[str, VectorRule])


def stages() -> Sequence[StagedResource]:
    """Resources for hints that are wanted."""
    return _file().stage


# -- notation -------------------------------------------------------------------------------------


def nodes_in(hint: str) -> list[int] | None:
    """The nodes of a hint; None for `nil`."""
    return None if hint.startswith("nil") else [int(node) for node in re.findall(r"\d+", hint)]


def all_nodes(nodes: Sequence[int]) -> str:
    """The hint of what nothing was found for: all nodes, and nobody prefers them."""
    return "{" + ",".join(map(str, nodes)) + "}-"


def split_outcome(outcome: str) -> tuple[str, bool]:
    """`{0}+ A` -> the hint, empty where none is told, and whether the pod is admitted."""
    hint, _, verdict = outcome.rpartition(" ")
    return hint, verdict == "A"
