"""refimpl.csi.state.node: a life of stage, publish, unpublish and unstage against a tiny model."""

from __future__ import annotations

from collections.abc import Callable

import attrs
from hypothesis import settings as limits
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from refimpl.csi.state import DriverState
from refimpl.csi.state.models import AccessMode, VolumeCapability
from refimpl.csi.state.node import NodeState, PublishRequest, StageRequest
from refimpl.csi.state.ports import numbered
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes.requests import NewVolume
from refimpl.csi.storage.memory import MemoryStorage
from refimpl.wire.status import Code, Refused

# Written down from the specification once more, by number and in another shape than the code.
SHARES = {3, 4, 5, 7}
MADE_FOR = {"solo": 1, "many": 5}
USABLE = {"solo": {1, 2, 6, 7}, "many": {1, 2, 3, 4, 5, 6, 7}}

volumes = st.sampled_from(sorted(MADE_FOR))
modes = st.sampled_from(list(range(1, 8)))
stagings = st.sampled_from(["/s1", "/s2"])
targets = st.sampled_from(["/t1", "/t2", "/t3"])


@attrs.frozen
class Shown:
    """One publication of the model."""

    volume: str
    mode: int
    readonly: bool
    staging: str


class NodeLife(RuleBasedStateMachine):
    """Two volumes, two staging paths, three targets, one node."""

    def __init__(self) -> None:
        super().__init__()
        self.storage = MemoryStorage()
        state = DriverState(
            DriverSettings(), clock=lambda: 0.0, ids=numbered(), storage=self.storage
        )
        self.tables = state.tables
        self.node = NodeState(state.tables, "node-0")
        self.ids: dict[str, str] = {}
        for name, mode in MADE_FOR.items():
            capability = VolumeCapability("mount", AccessMode(mode))
            volume = state.volumes.create(NewVolume(name, (capability,)))
            state.attachments.publish(volume.id, "node-0", capability, False, {}, {})
            self.ids[name] = volume.id
        self.staged: dict[str, tuple[str, int]] = {}
        self.shown: dict[str, Shown] = {}

    @rule(volume=volumes, path=stagings, mode=modes)
    def stage(self, volume: str, path: str, mode: int) -> None:
        """NodeStageVolume."""
        request = StageRequest(volume_id=self.ids[volume], path=path, capability=_capability(mode))
        expected = self._stage_answer(volume, path, mode)
        assert _code(lambda: self.node.stage(request)) == expected
        if expected == Code.OK:
            self.staged[path] = volume, mode

    @rule(volume=volumes, path=stagings)
    def unstage(self, volume: str, path: str) -> None:
        """NodeUnstageVolume."""
        staged_here = path in self.staged and self.staged[path][0] == volume
        in_use = staged_here and any(
            published.volume == volume for published in self.shown.values()
        )
        expected = Code.FAILED_PRECONDITION if in_use else Code.OK
        assert _code(lambda: self.node.unstage(self.ids[volume], path)) == expected
        if staged_here and not in_use:
            del self.staged[path]

    @rule(volume=volumes, where=targets, staging=stagings, mode=modes, readonly=st.booleans())
    def publish(self, volume: str, where: str, staging: str, mode: int, readonly: bool) -> None:
        """NodePublishVolume."""
        new = Shown(volume, mode, readonly, staging)
        request = PublishRequest(
            volume_id=self.ids[volume],
            target=where,
            staging=staging,
            capability=_capability(mode),
            readonly=readonly,
        )
        expected = self._publish_answer(where, new)
        assert _code(lambda: self.node.publish(request)) == expected
        if expected == Code.OK:
            self.shown[where] = new

    @rule(volume=volumes, where=targets)
    def unpublish(self, volume: str, where: str) -> None:
        """NodeUnpublishVolume."""
        assert _code(lambda: self.node.unpublish(self.ids[volume], where)) == Code.OK
        if where in self.shown and self.shown[where].volume == volume:
            del self.shown[where]

    @invariant()
    def every_place_shows_what_the_model_says(self) -> None:
        """The storage holds exactly the places of the model."""
        for name, volume_id in self.ids.items():
            for path in ("/s1", "/s2"):
                staged = path in self.staged and self.staged[path][0] == name
                assert self.storage.holds(volume_id, path) == staged
            for path in ("/t1", "/t2", "/t3"):
                published = path in self.shown and self.shown[path].volume == name
                assert self.storage.holds(volume_id, path) == published

    @invariant()
    def records_and_index_agree(self) -> None:
        """What DeleteVolume asks, `uses`, is what is recorded."""
        uses = sum(map(len, self.tables.uses.values()))
        assert uses == len(self.staged) + len(self.shown)
        assert len(self.tables.stagings) == len(self.staged)
        assert len(self.tables.publications) == len(self.shown)

    def _stage_answer(self, volume: str, path: str, mode: int) -> Code:
        occupant = self.staged.get(path)
        if occupant and occupant[0] == volume:
            return Code.OK if occupant[1] == mode else Code.ALREADY_EXISTS
        elsewhere = any(name == volume for name, _ in self.staged.values())
        if occupant or elsewhere or mode not in USABLE[volume]:
            return Code.FAILED_PRECONDITION
        return Code.OK

    def _publish_answer(self, target: str, new: Shown) -> Code:
        occupant = self.shown.get(target)
        if occupant and occupant.volume == new.volume:
            return Code.OK if occupant == new else Code.ALREADY_EXISTS
        staged = self.staged.get(new.staging, ("", 0))[0] == new.volume
        if occupant or not staged or new.mode not in USABLE[new.volume]:
            return Code.FAILED_PRECONDITION
        others = [
            publication.mode
            for publication in self.shown.values()
            if publication.volume == new.volume
        ]
        if others and not {*others, new.mode} <= SHARES:
            return Code.FAILED_PRECONDITION
        return Code.OK


def _capability(mode: int) -> VolumeCapability:
    return VolumeCapability("mount", AccessMode(mode))


def _code(call: Callable[[], None]) -> Code:
    try:
        call()
    except Refused as refused:
        return refused.code
    return Code.OK


TestNodeLife = NodeLife.TestCase
TestNodeLife.settings = limits(max_examples=40, stateful_step_count=30)
