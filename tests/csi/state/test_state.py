"""The whole state against a model that is as simple as can be: dictionaries, scanned every time.

The state is the oracle of the conformance cases, so it needs an oracle of its own.
"""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from refimpl.csi.state import DriverState
from refimpl.csi.state.models import (
    AccessMode,
    CapacityRange,
    ContentSource,
    Topology,
    VolumeCapability,
)
from refimpl.csi.state.ports import numbered
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.tables import load
from refimpl.csi.state.volumes.requests import NewVolume
from refimpl.wire.status import Code, Refused

UNIT = 4096
POOL = 12 * UNIT
LIMIT = 2
NAMES = st.sampled_from(["a", "b", "c", "d"])
UNITS = st.integers(0, 6)
MODES = st.sampled_from(
    [
        AccessMode.SINGLE_NODE_WRITER,
        AccessMode.MULTI_NODE_READER_ONLY,
        AccessMode.MULTI_NODE_MULTI_WRITER,
    ]
)
NODES = st.sampled_from(["node-0", "node-1"])


@attrs.define
class Known:
    """What the model remembers of a volume."""

    name: str
    size: int
    mode: AccessMode
    source: ContentSource | None
    nodes: dict[str, AccessMode] = attrs.field(factory=dict)


class Driver(RuleBasedStateMachine):
    """Volumes, snapshots and attachments at random; codes and lists agree with the model."""

    volumes = Bundle("volumes")
    snapshots = Bundle("snapshots")

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.written: dict[tuple[str, str], Any] = {}
        self.settings = DriverSettings(
            minimum=1,
            pools={"default": POOL},
            attach_limit=LIMIT,
            group_scope="any",
            delete_with_copies="refuse",
            page_entries=3,
        )
        self.state = self.opened(self.note)
        self.known: dict[str, Known] = {}
        self.cuts: dict[str, tuple[str, str, int]] = {}

    def opened(self, on_change: Any) -> DriverState:
        return DriverState(
            self.settings,
            clock=lambda: self.now,
            ids=numbered(),
            on_change=on_change,
            nodes=2,
        )

    def note(self, kind: str, key: str, record: object) -> None:
        if record is None:
            self.written.pop((kind, key), None)
        else:
            self.written[kind, key] = record

    def attempt(self, call: Any, *arguments: Any) -> tuple[Code, Any]:
        self.now += 1
        try:
            return Code.OK, call(*arguments)
        except Refused as refusal:
            return refusal.code, None

    def left(self) -> int:
        used = sum(item.size for item in self.known.values())
        return POOL - used - sum(size for _, _, size in self.cuts.values())

    # -- volumes ------------------------------------------------------------------------------

    @rule(target=volumes, name=NAMES, low=UNITS, high=UNITS, mode=MODES)
    def create(self, name: str, low: int, high: int, mode: AccessMode) -> Any:
        """With any range, valid or not."""
        return self._create(name, low, high, mode, None, 0)

    @rule(target=volumes, name=NAMES, low=UNITS, high=UNITS, mode=MODES, volume_id=volumes)
    def clone(self, name: str, low: int, high: int, mode: AccessMode, volume_id: str) -> Any:
        """Of a volume that may be gone."""
        model = self.known.get(volume_id)
        floor = model.size if model else None
        return self._create(name, low, high, mode, ContentSource("volume", volume_id), floor)

    @rule(target=volumes, name=NAMES, low=UNITS, high=UNITS, mode=MODES, snapshot_id=snapshots)
    def restore(self, name: str, low: int, high: int, mode: AccessMode, snapshot_id: str) -> Any:
        """From a snapshot that may be gone."""
        cut = self.cuts.get(snapshot_id)
        floor = cut[2] if cut else None
        return self._create(name, low, high, mode, ContentSource("snapshot", snapshot_id), floor)

    def _create(
        self,
        name: str,
        low: int,
        high: int,
        mode: AccessMode,
        source: ContentSource | None,
        floor: int | None,
    ) -> Any:
        low, high = low * UNIT, high * UNIT
        request = NewVolume(
            name, (VolumeCapability("mount", mode),), CapacityRange(low, high), source=source
        )
        code, created = self.attempt(self.state.volumes.create, request)
        expected = self._expected(name, low, high, mode, source, floor)
        assert code == expected, (code, expected)
        if created is None:
            return multiple()
        if created.id not in self.known:
            assert all(item.name != name for item in self.known.values())
            self.known[created.id] = Known(name, created.capacity, mode, source)
            assert created.capacity == max(low, floor or 0, 1)
        assert low <= created.capacity <= (high or created.capacity)
        return created.id

    def _expected(
        self,
        name: str,
        low: int,
        high: int,
        mode: AccessMode,
        source: ContentSource | None,
        floor: int | None,
    ) -> Code:
        if (not low and not high) or (high and low > high):
            return Code.INVALID_ARGUMENT
        for item in self.known.values():
            if item.name == name:
                fits = low <= item.size <= (high or item.size)
                covers = item.mode in (mode, AccessMode.MULTI_NODE_MULTI_WRITER)
                return Code.OK if fits and covers and item.source == source else Code.ALREADY_EXISTS
        if floor is None:
            return Code.NOT_FOUND
        size = max(low, floor, 1)
        if high and size > high:
            return Code.OUT_OF_RANGE
        return Code.OK if size <= self.left() else Code.RESOURCE_EXHAUSTED

    @rule(volume_id=volumes)
    def delete(self, volume_id: str) -> None:
        """Also what is gone, in use, or a source."""
        code, _ = self.attempt(self.state.volumes.delete, volume_id, {})
        model = self.known.get(volume_id)
        copied = any(
            item.source == ContentSource("volume", volume_id) for item in self.known.values()
        )
        refused = model is not None and (model.nodes or copied)
        assert code == (Code.FAILED_PRECONDITION if refused else Code.OK)
        if not refused:
            self.known.pop(volume_id, None)

    @rule(volume_id=volumes, units=st.integers(1, 8))
    def expand(self, volume_id: str, units: int) -> None:
        """Never smaller, never beyond the pool."""
        bounds = CapacityRange(units * UNIT)
        code, answer = self.attempt(self.state.changes.expand, volume_id, bounds, None, {})
        model = self.known.get(volume_id)
        if model is None:
            assert code == Code.NOT_FOUND
            return
        more = max(0, units * UNIT - model.size)
        assert code == (Code.OK if more <= self.left() else Code.OUT_OF_RANGE)
        if answer:
            model.size += more
            assert answer[0] == model.size

    # -- attachments --------------------------------------------------------------------------

    @rule(volume_id=volumes, node=NODES, mode=MODES)
    def publish(self, volume_id: str, node: str, mode: AccessMode) -> None:
        """The matrix of modes and nodes (CSI-PROP-002)."""
        capability = VolumeCapability("mount", mode)
        code, _ = self.attempt(
            self.state.attachments.publish, volume_id, node, capability, False, {}, {}
        )
        assert code == self._published(volume_id, node, mode)
        if code == Code.OK:
            self.known[volume_id].nodes[node] = mode

    def _published(self, volume_id: str, node: str, mode: AccessMode) -> Code:
        model = self.known.get(volume_id)
        if model is None:
            return Code.NOT_FOUND
        if model.mode not in (mode, AccessMode.MULTI_NODE_MULTI_WRITER):
            return Code.INVALID_ARGUMENT
        if node in model.nodes:
            return Code.OK if model.nodes[node] == mode else Code.ALREADY_EXISTS
        if model.nodes and AccessMode.SINGLE_NODE_WRITER in (mode, *model.nodes.values()):
            return Code.FAILED_PRECONDITION
        attached = sum(node in item.nodes for item in self.known.values())
        return Code.OK if attached < LIMIT else Code.RESOURCE_EXHAUSTED

    @rule(volume_id=volumes, node=st.one_of(NODES, st.just("")))
    def unpublish(self, volume_id: str, node: str) -> None:
        """From one node or all; always a success."""
        code, _ = self.attempt(self.state.attachments.unpublish, volume_id, node, {})
        assert code == Code.OK
        if model := self.known.get(volume_id):
            model.nodes = {
                item: mode for item, mode in model.nodes.items() if node not in ("", item)
            }

    # -- snapshots ----------------------------------------------------------------------------

    @rule(target=snapshots, volume_id=volumes, name=NAMES)
    def cut(self, volume_id: str, name: str) -> Any:
        """By name, of a volume that may be gone."""
        code, created = self.attempt(self.state.snapshots.create, volume_id, name, {}, None, {})
        assert code == self._cut(volume_id, name)
        if created is None:
            return multiple()
        if created.id not in self.cuts:
            self.cuts[created.id] = (name, volume_id, self.known[volume_id].size)
        assert created.size == self.cuts[created.id][2]
        return created.id

    def _cut(self, volume_id: str, name: str) -> Code:
        for known_name, source, _ in self.cuts.values():
            if known_name == name:
                return Code.OK if source == volume_id else Code.ALREADY_EXISTS
        if volume_id not in self.known:
            return Code.NOT_FOUND
        enough = self.known[volume_id].size <= self.left()
        return Code.OK if enough else Code.RESOURCE_EXHAUSTED

    @rule(snapshot_id=consumes(snapshots))
    def drop(self, snapshot_id: str) -> None:
        """Unless a volume was restored from it."""
        code, _ = self.attempt(self.state.snapshots.delete, snapshot_id, {})
        source = ContentSource("snapshot", snapshot_id)
        copied = any(item.source == source for item in self.known.values())
        refused = copied and snapshot_id in self.cuts
        assert code == (Code.FAILED_PRECONDITION if refused else Code.OK)
        if not refused:
            self.cuts.pop(snapshot_id, None)

    # -- what callers see ---------------------------------------------------------------------

    @invariant()
    def lists_are_complete(self) -> None:
        """Page by page, in order of creation, with size and nodes."""
        listed, token = {}, ""
        while True:
            page = self.state.queries.list(token, 2)
            listed |= {
                entry.volume.id: (entry.volume.capacity, set(entry.published))
                for entry in page.entries
            }
            if not (token := page.next_token):
                break
        assert listed == {key: (item.size, set(item.nodes)) for key, item in self.known.items()}
        cuts = self.state.snapshots.list("", 0, "", "", {}).entries
        assert [item.id for item in cuts] == list(self.cuts)[: len(cuts)]

    @invariant()
    def capacity_is_what_is_left(self) -> None:
        """Given out once, taken back once."""
        assert self.state.queries.capacity((), {}, None).available == self.left()
        zone = Topology.of({self.settings.topology_key: "zone-a"})
        assert self.state.queries.capacity((), {}, zone).available == self.left()

    @invariant()
    def a_later_run_would_know_the_same(self) -> None:
        """What was written down makes this state (CSI-PROP-007)."""
        later = self.opened(lambda *_: None)
        load(later.tables, self.written.values())
        assert later.tables.volumes == self.state.tables.volumes
        assert later.tables.snapshots == self.state.tables.snapshots
        assert later.tables.attachments == self.state.tables.attachments
        assert +later.tables.charged == +self.state.tables.charged
        assert later.tables.copies == self.state.tables.copies


TestDriver = Driver.TestCase
TestDriver.settings = settings(max_examples=60, stateful_step_count=40)


def test_readiness_comes_with_time(open_desk: Any) -> None:
    """Probe: once ready it stays so."""
    desk = open_desk(ready_after=5.0)
    assert not desk.state.ready()
    desk.clock.now += 5
    assert desk.state.ready()


def test_nodes_are_known_with_their_places(open_desk: Any) -> None:
    """Two in each zone."""
    nodes = open_desk(nodes=3).state.tables.nodes
    zones = {node: place.segments[0][1] for node, place in nodes.items()}
    assert zones == {"node-0": "zone-a", "node-1": "zone-a", "node-2": "zone-b"}


def test_a_missing_dependency_fails_the_probe(desk: Any, refused: Any) -> None:
    """FAILED_PRECONDITION is what the specification has for it; ready = false is for starting."""
    desk.state.missing_dependency = "its network"
    with refused(Code.FAILED_PRECONDITION, "its network"):
        desk.state.ready()
    desk.state.missing_dependency = ""
    assert desk.state.ready()
