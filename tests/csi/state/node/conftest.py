"""A node of a driver, its storage replaced by one that remembers what it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from refimpl.csi.state import DriverState
from refimpl.csi.state.models import Access, AccessMode, VolumeCapability
from refimpl.csi.state.node import NodeState
from refimpl.csi.state.ports import numbered
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes.requests import NewVolume
from refimpl.csi.storage.memory import MemoryStorage
from refimpl.wire.status import Refused

SIZE = 1 << 30


class Recorder(MemoryStorage):
    """Remembers every call; `failing` names calls to refuse; `directories` None = all exist."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, ...]] = []
        self.failing: dict[str, Refused] = {}
        self.directories: set[str] | None = None

    def is_directory(self, path: str) -> bool:
        return self.directories is None or path in self.directories

    def __getattribute__(self, name: str) -> Any:
        attribute = super().__getattribute__(name)
        if name not in ("stage", "unstage", "publish", "unpublish", "resize", "fill", "destroy"):
            return attribute

        def called(*args: Any) -> Any:
            self.calls.append((name, *args))
            if refusal := self.failing.get(name):
                raise refusal
            return attribute(*args)

        return called


@attrs.define
class Rig:
    """A driver with two nodes and one recorder behind both."""

    state: DriverState
    storage: Recorder
    node: NodeState
    other: NodeState
    changes: list[tuple[str, str, object]]
    full: list[Refused]
    """While it holds a refusal, no change can be written down."""

    def volume(
        self,
        *modes: AccessMode,
        access: Access = "mount",
        name: str = "v",
        attached: bool = True,
        size: int = 0,
    ) -> str:
        """A new volume for those modes, attached to both nodes where the mode allows it."""
        capabilities = tuple(VolumeCapability(access, m) for m in modes or (AccessMode(5),))
        volume = self.state.volumes.create(NewVolume(name, capabilities))
        if attached and self.state.settings.has("controller", "PUBLISH_UNPUBLISH_VOLUME"):
            for node in ("node-0", "node-1") if capabilities[0].mode.multi_node else ("node-0",):
                self.state.attachments.publish(volume.id, node, capabilities[0], False, {}, {})
        return volume.id


@pytest.fixture
def new_rig() -> Iterator[Callable[..., Rig]]:
    """Makes a rig: new_rig("CLONE_VOLUME", revision="1.12") = without that capability, so set."""

    def make(*without: str, **choices: Any) -> Rig:
        changes: list[tuple[str, str, object]] = []
        full: list[Refused] = []

        def on_change(kind: str, key: str, record: object) -> None:
            if full:
                raise full[0]
            changes.append((kind, key, record))

        storage = Recorder()
        state = DriverState(
            DriverSettings(**choices).without(*without),
            clock=lambda: 0.0,
            ids=numbered(),
            storage=storage,
            on_change=on_change,
            nodes=2,
        )
        nodes = [NodeState(state.tables, f"node-{index}") for index in range(2)]
        return Rig(state, storage, *nodes, changes, full)

    return make
