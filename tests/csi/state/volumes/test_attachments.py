"""ControllerPublishVolume and ControllerUnpublishVolume."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from refimpl.csi.state import DriverState
from refimpl.csi.state.models import AccessMode, Staging, VolumeCapability
from refimpl.csi.state.ports import numbered
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes.requests import NewVolume
from refimpl.wire.status import Code, Refused

M = AccessMode
ALL = tuple(mode for mode in AccessMode if mode != AccessMode.UNKNOWN)


def shared(desk: Any, name: str = "a") -> Any:
    """A volume for every mode."""
    return desk.volume(name, capabilities=(desk.mount(M.MULTI_NODE_MULTI_WRITER),))


def nodes_of(desk: Any, volume: Any) -> set[str]:
    return set(desk.state.queries.get(volume.id).published)


def test_a_repeated_publish_gives_the_same_context(desk: Any) -> None:
    """The caller may have lost the first answer."""
    volume = desk.volume()
    first = desk.attach(volume)
    assert first.context
    assert all(desk.attach(volume) == first for _ in range(3))
    assert desk.state.tables.attached["node-0"] == 1


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("volume_id", "", "volume_id"),
        ("node_id", "", "node_id"),
        ("node_id", "n" * 257, "node_id"),
        ("capability", None, "volume_capability"),
        ("context", {"k": "v" * 5000}, "volume_context"),
    ],
)
def test_bad_fields_are_refused(
    desk: Any, field: str, value: Any, message: str, refused: Any
) -> None:
    """Before anything is looked up."""
    arguments = {
        "volume_id": "none",
        "node_id": "none",
        "capability": desk.mount(),
        "readonly": False,
        "context": {},
        "secrets": {},
        field: value,
    }
    with refused(Code.INVALID_ARGUMENT, message):
        desk.state.attachments.publish(**arguments)


def test_volume_and_node_have_to_exist(desk: Any, refused: Any) -> None:
    """The message tells which one is missing."""
    volume = desk.volume()
    with refused(Code.NOT_FOUND, "volume"):
        desk.state.attachments.publish("none", "node-0", desk.mount(), False, {}, {})
    with refused(Code.NOT_FOUND, "node 'other'"):
        desk.attach(volume, "other")


@pytest.mark.parametrize(
    "change",
    [{"readonly": True}, {"capability": M.SINGLE_NODE_READER_ONLY}],
)
def test_another_use_on_the_same_node_already_exists(
    desk: Any, change: dict[str, Any], refused: Any
) -> None:
    """Unpublishing first is what the caller has to do."""
    volume = desk.volume()
    desk.attach(volume)
    if "capability" in change:
        change = {"capability": desk.mount(change["capability"])}
    with refused(Code.ALREADY_EXISTS, "node-0"):
        desk.attach(volume, **change)


@pytest.mark.parametrize("mode", ALL)
def test_a_second_node_takes_a_mode_for_several(desk: Any, mode: M, refused: Any) -> None:
    """The refusal names the node that has the volume."""
    volume = shared(desk)
    capability = desk.mount(mode)
    desk.attach(volume, "node-0", capability=capability, readonly=mode.read_only)
    if mode.multi_node and mode != M.MULTI_NODE_SINGLE_WRITER:
        desk.attach(volume, "node-1", capability=capability, readonly=mode.read_only)
        assert nodes_of(desk, volume) == {"node-0", "node-1"}
        return
    with refused(Code.FAILED_PRECONDITION, "node-0", mode.name):
        desk.attach(volume, "node-1", capability=capability)
    assert nodes_of(desk, volume) == {"node-0"}


def test_a_single_writer_lets_readers_in(desk: Any, refused: Any) -> None:
    """MULTI_NODE_SINGLE_WRITER: one writes, the others only read."""
    volume, capability = shared(desk), desk.mount(M.MULTI_NODE_SINGLE_WRITER)
    desk.attach(volume, "node-0", capability=capability)
    desk.attach(volume, "node-1", capability=capability, readonly=True)
    desk.state.attachments.unpublish(volume.id, "node-1", {})
    with refused(Code.FAILED_PRECONDITION, "one writer"):
        desk.attach(volume, "node-1", capability=capability)


def test_without_readonly_nobody_can_tell_writers(open_desk: Any, refused: Any) -> None:
    """A driver without PUBLISH_READONLY cannot count them, and takes no readonly."""
    desk = open_desk(without=("PUBLISH_READONLY",), nodes=2)
    volume, capability = shared(desk), desk.mount(M.MULTI_NODE_SINGLE_WRITER)
    for node in ("node-0", "node-1"):
        desk.attach(volume, node, capability=capability)
    with refused(Code.INVALID_ARGUMENT, "PUBLISH_READONLY"):
        desk.attach(desk.volume("b"), readonly=True)


def test_a_volume_is_used_as_it_was_made(desk: Any, refused: Any) -> None:
    """Other access types and wider modes are refused."""
    volume = desk.volume()
    for capability in (desk.block(), desk.mount(M.MULTI_NODE_MULTI_WRITER)):
        with refused(Code.INVALID_ARGUMENT, "volume_capability"):
            desk.attach(volume, capability=capability)
    desk.attach(volume, capability=desk.mount(M.SINGLE_NODE_READER_ONLY))


def test_a_context_may_have_more_but_not_other_entries(desk: Any, refused: Any) -> None:
    """The provisioner adds a key of its own; a changed one is a mistake."""
    volume = desk.volume()
    desk.attach(volume, context={**volume.context, "storage.kubernetes.io/identity": "x"})
    with refused(Code.INVALID_ARGUMENT, "'kind'"):
        desk.attach(volume, context={"kind": "other"})


def test_a_node_elsewhere_cannot_have_the_volume(desk: Any, refused: Any) -> None:
    """node-2 lies in the second zone, the volume in the first."""
    volume = desk.volume()
    with refused(Code.FAILED_PRECONDITION, "node-2", "zone-b"):
        desk.attach(volume, "node-2")
    desk.attach(desk.volume("b", requirement=desk.require("zone-b")), "node-2")


def test_the_limit_of_a_node_holds_and_frees(open_desk: Any, refused: Any) -> None:
    """RESOURCE_EXHAUSTED makes Kubernetes look at the node's limit again."""
    desk = open_desk(attach_limit=2, nodes=2)
    volumes = [desk.volume(name) for name in "abc"]
    desk.attach(volumes[0])
    desk.attach(volumes[1])
    with refused(Code.RESOURCE_EXHAUSTED, "node-0"):
        desk.attach(volumes[2])
    desk.attach(volumes[0])
    desk.attach(volumes[2], "node-1")
    desk.state.attachments.unpublish(volumes[2].id, "node-1", {})
    desk.state.attachments.unpublish(volumes[0].id, "node-0", {})
    desk.attach(volumes[2])


def test_unpublishing_what_is_not_published_succeeds(desk: Any, refused: Any) -> None:
    """Twice, never, unknown volume, unknown node: detached is detached."""
    volume = desk.volume()
    desk.attach(volume)
    for volume_id, node in (
        (volume.id, "node-1"),
        (volume.id, "other"),
        ("none", "node-0"),
        ("none", ""),
        (volume.id, "node-0"),
        (volume.id, "node-0"),
    ):
        desk.state.attachments.unpublish(volume_id, node, {})
    assert nodes_of(desk, volume) == set()
    with refused(Code.INVALID_ARGUMENT, "volume_id"):
        desk.state.attachments.unpublish("", "node-0", {})


def test_no_node_means_all_nodes(desk: Any) -> None:
    """And one node means that one."""
    volume = shared(desk)
    for node in ("node-0", "node-1"):
        desk.attach(volume, node, capability=desk.mount(M.MULTI_NODE_MULTI_WRITER))
    desk.state.attachments.unpublish(volume.id, "node-1", {})
    assert nodes_of(desk, volume) == {"node-0"}
    desk.attach(volume, "node-1", capability=desk.mount(M.MULTI_NODE_MULTI_WRITER))
    desk.state.attachments.unpublish(volume.id, "", {})
    assert nodes_of(desk, volume) == set()
    assert not any(desk.state.tables.attached.values())


def test_a_volume_in_use_on_its_node_is_not_detached(open_desk: Any, refused: Any) -> None:
    """Unless the settings allow it, as after a node was lost."""
    for policy in ("refuse", "allow"):
        desk = open_desk(detach_in_use=policy, nodes=2)
        volume = desk.volume()
        desk.attach(volume)
        desk.state.tables.put_staging(Staging(volume.id, "node-0", "/s", desk.mount()))
        if policy == "refuse":
            with refused(Code.FAILED_PRECONDITION, "/s"):
                desk.state.attachments.unpublish(volume.id, "", {})
            assert nodes_of(desk, volume) == {"node-0"}
            desk.state.attachments.unpublish(volume.id, "node-1", {})
        else:
            desk.state.attachments.unpublish(volume.id, "node-0", {})
            assert nodes_of(desk, volume) == set()


@pytest.mark.parametrize(
    ("first", "second", "free"),
    [
        (M.SINGLE_NODE_WRITER, M.MULTI_NODE_MULTI_WRITER, False),
        (M.MULTI_NODE_MULTI_WRITER, M.SINGLE_NODE_WRITER, False),
        (M.MULTI_NODE_MULTI_WRITER, M.MULTI_NODE_READER_ONLY, True),
        (M.MULTI_NODE_MULTI_WRITER, M.MULTI_NODE_SINGLE_WRITER, False),
        (M.MULTI_NODE_SINGLE_WRITER, M.MULTI_NODE_READER_ONLY, True),
    ],
)
def test_both_uses_have_to_allow_each_other(
    desk: Any, first: M, second: M, free: bool, refused: Any
) -> None:
    """What the first one was promised counts as much as what the second one asks for."""
    volume = shared(desk)
    desk.attach(volume, "node-0", capability=desk.mount(first))
    if free:
        desk.attach(volume, "node-1", capability=desk.mount(second))
    else:
        with refused(Code.FAILED_PRECONDITION, "node-0"):
            desk.attach(volume, "node-1", capability=desk.mount(second))


ALLOWED = st.sampled_from([mode for mode in ALL if mode != M.MULTI_NODE_SINGLE_WRITER])


class Nodes(RuleBasedStateMachine):
    """Three volumes, two nodes, a limit of two, at random (CSI-PROP-002)."""

    def __init__(self) -> None:
        super().__init__()
        self.state = DriverState(
            DriverSettings(attach_limit=2), clock=lambda: 0.0, ids=numbered(), nodes=2
        )
        wide = (VolumeCapability("mount", M.MULTI_NODE_MULTI_WRITER),)
        self.ids = [self.state.volumes.create(NewVolume(name, wide)).id for name in "abc"]
        self.model: dict[str, dict[str, M]] = {volume_id: {} for volume_id in self.ids}

    @rule(number=st.integers(0, 2), node=st.integers(0, 1), mode=ALLOWED)
    def publish(self, number: int, node: int, mode: M) -> None:
        """Answered as the model says."""
        volume_id, node_id = self.ids[number], f"node-{node}"
        code = Code.OK
        try:
            self.state.attachments.publish(
                volume_id, node_id, VolumeCapability("mount", mode), False, {}, {}
            )
        except Refused as refusal:
            code = refusal.code
        assert code == self._expected(self.model[volume_id], node_id, mode)
        if code == Code.OK:
            self.model[volume_id][node_id] = mode

    def _expected(self, nodes: dict[str, M], node_id: str, mode: M) -> Code:
        if node_id in nodes:
            return Code.OK if nodes[node_id] == mode else Code.ALREADY_EXISTS
        if nodes and not all(mode_there.multi_node for mode_there in (mode, *nodes.values())):
            return Code.FAILED_PRECONDITION
        full = sum(node_id in mode_there for mode_there in self.model.values()) == 2
        return Code.RESOURCE_EXHAUSTED if full else Code.OK

    @rule(number=st.integers(0, 2), node=st.sampled_from(["node-0", "node-1", ""]))
    def unpublish(self, number: int, node: str) -> None:
        """Always a success."""
        self.state.attachments.unpublish(self.ids[number], node, {})
        nodes = self.model[self.ids[number]]
        for leaving in [mode_there for mode_there in nodes if node in ("", mode_there)]:
            del nodes[leaving]

    @invariant()
    def lists_tell_the_nodes(self) -> None:
        """published_node_ids is the model."""
        for entry in self.state.queries.list("", 0).entries:
            assert set(entry.published) == set(self.model[entry.volume.id])


TestNodes = Nodes.TestCase
TestNodes.settings = settings(max_examples=50, stateful_step_count=30)
