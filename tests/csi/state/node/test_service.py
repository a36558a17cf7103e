"""refimpl.csi.state.node.service: the ten Node RPCs without a wire and without a file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from refimpl.csi.state.models import Access, AccessMode, CapacityRange, VolumeCapability
from refimpl.csi.state.node import ExpandRequest, NodeState, PublishRequest, StageRequest
from refimpl.wire.status import Code, Refused

Make = Callable[..., Any]

WRITER = VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER)
SHARED = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER)
FULL = Refused(Code.RESOURCE_EXHAUSTED, "the disk is full")


def stage(node: NodeState, volume: str, path: str = "/s", **change: Any) -> None:
    """NodeStageVolume."""
    node.stage(StageRequest(**{"volume_id": volume, "path": path, "capability": SHARED, **change}))


def publish(node: NodeState, volume: str, target: str = "/t", **change: Any) -> None:
    """NodePublishVolume from staging path /s."""
    asked = {"volume_id": volume, "target": target, "staging": "/s", "capability": SHARED}
    node.publish(PublishRequest(**{**asked, **change}))


def code(call: Callable[..., object], *args: Any, **named: Any) -> Code:
    """How a call ends."""
    try:
        call(*args, **named)
    except Refused as refused:
        return refused.code
    return Code.OK


# -- what the node is ---------------------------------------------------------------------------


def test_the_node_tells_its_place_only_with_the_capability(rig: Make) -> None:
    """accessible_topology needs VOLUME_ACCESSIBILITY_CONSTRAINTS."""
    info = rig().node.info()
    assert (info.node_id, info.most_volumes) == ("node-0", 64)
    assert info.place.segments == (("topology.csi.refimpl.example/zone", "zone-a"),)
    assert rig("VOLUME_ACCESSIBILITY_CONSTRAINTS").node.info().place is None


@pytest.mark.parametrize("revision", ["1.12", "1.13"])
def test_capabilities_follow_the_revision(revision: str, rig: Make) -> None:
    """Conditions are gone in 1.13, health is new there."""
    names = set(rig(revision=revision).node.capabilities())
    assert ("VOLUME_CONDITION" in names) == (revision == "1.12")
    assert ("GET_VOLUME_HEALTH" in names) == (revision == "1.13")


def test_calls_of_another_revision_or_without_capability_are_unimplemented(rig: Make) -> None:
    """12 tells a caller never to try again."""
    old = rig(revision="1.12").node
    assert code(old.health, "v") == Code.UNIMPLEMENTED
    assert code(old.storage_health, {}) == Code.UNIMPLEMENTED
    bare = rig("STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS", "EXPAND_VOLUME").node
    assert code(stage, bare, "v") == Code.UNIMPLEMENTED
    assert code(bare.unstage, "v", "/s") == Code.UNIMPLEMENTED
    assert code(bare.stats, "v", "/t") == Code.UNIMPLEMENTED
    assert code(bare.expand, ExpandRequest(volume_id="v", path="/t")) == Code.UNIMPLEMENTED
    away = rig(node_service=False).node
    assert code(away.info) == code(away.capabilities) == Code.UNIMPLEMENTED
    assert code(publish, away, "v") == code(away.unpublish, "v", "/t") == Code.UNIMPLEMENTED


# -- staging ------------------------------------------------------------------------------------


def test_staging_again_is_a_repeat(rig: Make) -> None:
    """The storage is asked each time, so that what was taken away meanwhile comes back."""
    here = rig()
    volume = here.volume()
    for _ in range(3):
        stage(here.node, volume)
    assert len(here.state.tables.stagings) == 1
    assert [call[0] for call in here.storage.calls] == ["stage"] * 3


def test_staging_tells_the_storage_the_file_system(rig: Make) -> None:
    """An empty fs_type means the one the volume was created for."""
    here = rig(default_fs="xfs")
    stage(here.node, here.volume())
    assert here.storage.calls[0][3].fs_type == "xfs"


def test_another_capability_at_the_same_path_exists_already(rig: Make) -> None:
    """Whatever part of it differs."""
    here = rig()
    volume = here.volume()
    stage(here.node, volume)
    for other in (attrs.evolve(SHARED, mount_flags=("ro",)), attrs.evolve(SHARED, access="block")):
        assert code(stage, here.node, volume, capability=other) == Code.ALREADY_EXISTS


def test_a_second_path_or_a_shared_path_is_refused(rig: Make) -> None:
    """A node stages a volume once, and each volume somewhere else."""
    here = rig()
    one, two = here.volume(name="one"), here.volume(name="two")
    stage(here.node, one)
    assert code(stage, here.node, one, "/elsewhere") == Code.FAILED_PRECONDITION
    assert code(stage, here.node, two, "/s/") == Code.FAILED_PRECONDITION
    stage(here.other, one, "/elsewhere")


@pytest.mark.parametrize(
    "capability",
    [
        VolumeCapability("block", AccessMode.SINGLE_NODE_WRITER),
        VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER),
        VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER, "xfs"),
    ],
    ids=["access type", "mode", "file system"],
)
def test_what_the_volume_was_not_made_for_fails(capability: VolumeCapability, rig: Make) -> None:
    """NodeStageVolume answers an unsupported capability with FAILED_PRECONDITION."""
    here = rig()
    volume = here.volume(AccessMode.SINGLE_NODE_WRITER)
    assert code(stage, here.node, volume, capability=capability) == Code.FAILED_PRECONDITION
    asked = {"capability": capability}
    assert code(publish, here.node, volume, **asked) == Code.FAILED_PRECONDITION


def test_modes_six_and_seven_need_the_capability_on_the_node(rig: Make) -> None:
    """SINGLE_NODE_MULTI_WRITER of the node, whatever the controller offers."""
    mode = AccessMode.SINGLE_NODE_SINGLE_WRITER
    one = VolumeCapability("mount", mode)
    here = rig()
    stage(here.node, here.volume(mode), capability=one)
    here = rig("node:SINGLE_NODE_MULTI_WRITER")
    assert code(stage, here.node, here.volume(mode), capability=one) == Code.FAILED_PRECONDITION


def test_an_unknown_volume_is_not_found(rig: Make) -> None:
    """In every call that needs one."""
    node = rig().node
    assert code(stage, node, "nobody") == code(publish, node, "nobody") == Code.NOT_FOUND
    assert code(node.stats, "nobody", "/t") == Code.NOT_FOUND
    assert code(node.expand, ExpandRequest(volume_id="nobody", path="/t")) == Code.NOT_FOUND
    assert code(node.health, "nobody") == Code.NOT_FOUND


def test_a_staging_path_that_is_no_directory_fails(rig: Make) -> None:
    """The caller makes it; nothing is made elsewhere and nothing remembered."""
    here = rig()
    here.storage.directories = {"/made"}
    volume = here.volume()
    assert code(stage, here.node, volume, "/missing") == Code.FAILED_PRECONDITION
    assert (here.storage.calls, here.state.tables.stagings) == ([], {})
    stage(here.node, volume, "/made")


def test_a_volume_must_be_attached_where_the_driver_attaches(rig: Make) -> None:
    """Stage before ControllerPublishVolume is a mistake of the caller; a switch forgives it."""
    here = rig()
    volume = here.volume(attached=False)
    assert code(stage, here.node, volume) == Code.FAILED_PRECONDITION
    assert not here.storage.calls
    for lenient in (rig("PUBLISH_UNPUBLISH_VOLUME"), rig(require_attachment=False)):
        stage(lenient.node, lenient.volume(attached=False))


def test_unstaging_undoes_and_may_be_repeated(rig: Make) -> None:
    """A success, too, for a path never used and for a volume never heard of."""
    here = rig()
    volume = here.volume()
    stage(here.node, volume)
    for _ in range(2):
        here.node.unstage(volume, "/s")
    here.node.unstage(volume, "/never")
    here.node.unstage("nobody", "/s")
    assert not here.state.tables.stagings
    assert [call[0] for call in here.storage.calls] == ["stage", "unstage"]


def test_unstaging_at_the_path_of_another_volume_leaves_it(rig: Make) -> None:
    """A caller in confusion must not hurt others."""
    here = rig()
    one, two = here.volume(name="one"), here.volume(name="two")
    stage(here.node, one)
    here.node.unstage(two, "/s")
    assert ("node-0", "/s") in here.state.tables.stagings


def test_unstaging_while_published_fails_and_keeps_the_publication(rig: Make) -> None:
    """Every target goes before the staging path."""
    here = rig()
    volume = here.volume()
    stage(here.node, volume)
    publish(here.node, volume)
    assert code(here.node.unstage, volume, "/s") == Code.FAILED_PRECONDITION
    here.node.unpublish(volume, "/t")
    here.node.unstage(volume, "/s")


def test_work_without_a_record_is_undone(rig: Make) -> None:
    """A driver killed between mounting and writing down meets the caller's clean-up later."""
    here = rig()
    volume = here.volume()
    here.storage.stage(volume, "/s", SHARED)
    here.storage.publish(volume, "/t", SHARED, False, "/s")
    here.storage.calls.clear()
    here.node.unpublish(volume, "/t")
    here.node.unstage(volume, "/s")
    assert [call[:3] for call in here.storage.calls] == [
        ("unpublish", volume, "/t"),
        ("unstage", volume, "/s"),
    ]


# -- publishing ---------------------------------------------------------------------------------


def staged(here: Any, **how: Any) -> str:
    """A volume staged at /s."""
    volume: str = here.volume(**how)
    stage(here.node, volume)
    return volume


@pytest.mark.parametrize("staging", ["", "/never"])
def test_publishing_needs_the_staging_path(staging: str, rig: Make) -> None:
    """With STAGE_UNSTAGE_VOLUME; without it whatever is sent there is ignored."""
    here = rig()
    volume = staged(here)
    assert code(publish, here.node, volume, staging=staging) == Code.FAILED_PRECONDITION
    here = rig("STAGE_UNSTAGE_VOLUME")
    publish(here.node, here.volume(), staging=staging)


def test_publishing_from_the_staging_path_of_another_volume_fails(rig: Make) -> None:
    """It would show the wrong data."""
    here = rig()
    staged(here, name="one")
    two = here.volume(name="two")
    assert code(publish, here.node, two) == Code.FAILED_PRECONDITION


def test_publishing_again_is_a_repeat_whatever_contexts_and_secrets_say(rig: Make) -> None:
    """Kubernetes sends fresh tokens to the same target over and over (requiresRepublish)."""
    here = rig()
    volume = staged(here)
    publish(here.node, volume, volume_context={"token": "1"}, secrets={"s": "1"})
    publish(here.node, volume, "/t/", volume_context={"token": "2"}, secrets={"s": "2"})
    publish(here.node, volume, publish_context={"other": "x"})
    assert len(here.state.tables.publications) == 1
    assert [call[0] for call in here.storage.calls].count("publish") == 3


def test_no_token_is_remembered(rig: Make) -> None:
    """Neither in a record nor in what is written down."""
    here = rig()
    volume = staged(here)
    publish(here.node, volume, volume_context={"token": "canary"}, secrets={"s": "canary"})
    assert "canary" not in repr(here.changes)


def test_a_target_of_another_volume_is_refused_and_left_alone(rig: Make) -> None:
    """Two volumes at one path would hide one another."""
    here = rig("STAGE_UNSTAGE_VOLUME")
    one, two = here.volume(name="one"), here.volume(name="two")
    publish(here.node, one)
    assert code(publish, here.node, two) == Code.FAILED_PRECONDITION
    here.node.unpublish(two, "/t")
    assert here.state.tables.publications["node-0", "/t"].volume_id == one


def test_other_nodes_have_targets_of_their_own(rig: Make) -> None:
    """The table is about one node."""
    here = rig("STAGE_UNSTAGE_VOLUME")
    volume = here.volume()
    publish(here.node, volume)
    publish(here.other, volume, readonly=True)
    assert len(here.state.tables.publications) == 2


@pytest.mark.parametrize(
    ("mode", "asked", "readonly"),
    [
        (AccessMode.MULTI_NODE_MULTI_WRITER, False, False),
        (AccessMode.MULTI_NODE_MULTI_WRITER, True, True),
        (AccessMode.MULTI_NODE_READER_ONLY, False, True),
        (AccessMode.SINGLE_NODE_READER_ONLY, False, True),
    ],
)
def test_a_mode_of_readers_is_read_only_whatever_is_asked(
    mode: AccessMode, asked: bool, readonly: bool, rig: Make
) -> None:
    """The storage is told what holds in the end."""
    here = rig("STAGE_UNSTAGE_VOLUME")
    one = VolumeCapability("mount", mode)
    publish(here.node, here.volume(mode), readonly=asked, capability=one)
    assert here.storage.calls[-1][4] is readonly


def test_what_is_attached_read_only_is_published_read_only(rig: Make) -> None:
    """The node cannot write through an attachment that cannot."""
    here = rig("STAGE_UNSTAGE_VOLUME")
    volume = here.volume(attached=False)
    here.state.attachments.publish(volume, "node-0", SHARED, True, {}, {})
    publish(here.node, volume)
    assert here.storage.calls[-1][4] is True


def test_unpublishing_undoes_and_may_be_repeated(rig: Make) -> None:
    """A success, too, for a target never used and for a volume never heard of."""
    here = rig()
    volume = staged(here)
    publish(here.node, volume)
    for _ in range(2):
        here.node.unpublish(volume, "/t")
    here.node.unpublish(volume, "/never")
    here.node.unpublish("nobody", "/t")
    assert not here.state.tables.publications
    assert [call[0] for call in here.storage.calls].count("unpublish") == 1


# -- inline volumes -----------------------------------------------------------------------------

INLINE = {"volume_context": {"csi.storage.k8s.io/ephemeral": "true"}, "capability": WRITER}


def test_an_inline_volume_lives_as_long_as_it_is_published(rig: Make) -> None:
    """No create, no attach, no stage: one publish brings it, one unpublish ends it."""
    here = rig(ephemeral=True)
    for _ in range(2):
        publish(here.node, "csi-1", staging="", **INLINE)
    assert here.state.tables.volumes["csi-1"].ephemeral
    assert here.node.stats("csi-1", "/t").usage.bytes[0] == here.state.settings.default_size
    for _ in range(2):
        here.node.unpublish("csi-1", "/t")
    assert (here.state.tables.volumes, here.state.tables.uses) == ({}, {})
    assert here.storage.calls[-1] == ("destroy", "csi-1")


def test_an_inline_volume_that_cannot_be_shown_is_not_kept(rig: Make) -> None:
    """A failed publish leaves nothing."""
    here = rig(ephemeral=True)
    here.storage.failing["publish"] = Refused(Code.FAILED_PRECONDITION, "no parent")
    assert code(publish, here.node, "csi-1", staging="", **INLINE) == Code.FAILED_PRECONDITION
    assert not here.state.tables.volumes
    assert here.storage.calls[-1] == ("destroy", "csi-1")


def test_inline_volumes_need_a_driver_that_makes_them(rig: Make) -> None:
    """Elsewhere the id is simply unknown."""
    assert code(publish, rig().node, "csi-1", **INLINE) == Code.NOT_FOUND
    assert code(publish, rig(ephemeral=True).node, "csi-1") == Code.NOT_FOUND


# -- statistics, expansion ----------------------------------------------------------------------


def test_statistics_are_told_where_the_volume_is_and_nowhere_else(rig: Make) -> None:
    """Staging path and target alike; a relative path is no place at all."""
    here = rig()
    volume = staged(here)
    publish(here.node, volume)
    for path in ("/s", "/t", "/t/"):
        assert here.node.stats(volume, path).usage.bytes[0] == here.state.settings.default_size
    for path in ("/elsewhere", "t", "some/path"):
        assert code(here.node.stats, volume, path) == Code.NOT_FOUND
    assert code(here.other.stats, volume, "/t") == Code.NOT_FOUND
    here.node.unpublish(volume, "/t")
    assert code(here.node.stats, volume, "/t") == Code.NOT_FOUND
    assert code(here.node.stats, "", "/t") == Code.INVALID_ARGUMENT
    assert code(here.node.stats, volume, "") == Code.INVALID_ARGUMENT


def test_a_condition_is_told_in_1_12_and_never_in_1_13(rig: Make) -> None:
    """Abnormal while a fault of the volume is known on this node."""
    here = rig(revision="1.12")
    volume = staged(here)
    assert here.node.stats(volume, "/s").condition == (False, "the volume works")
    here.state.health.break_volume(volume, "DEGRADED", "Slow", "slow", "node-1")
    assert here.node.stats(volume, "/s").condition == (False, "the volume works")
    here.state.health.break_volume(volume, "DEGRADED", "Slow", "very slow", "node-0")
    assert here.node.stats(volume, "/s").condition == (True, "very slow")
    new = rig()
    assert new.node.stats(staged(new), "/s").condition is None


def test_statistics_are_due_with_conditions_alone(rig: Make) -> None:
    """1.12: VOLUME_CONDITION without GET_VOLUME_STATS."""
    here = rig("GET_VOLUME_STATS", revision="1.12")
    assert here.node.stats(staged(here), "/s").condition is not None


def test_the_node_follows_the_controller_to_the_new_size(rig: Make) -> None:
    """Without a range to the size there is; a repetition and a smaller request change nothing."""
    here = rig()
    volume = staged(here)
    size = 2 * here.state.settings.default_size
    here.state.changes.expand(volume, CapacityRange(size), None, {})
    for wanted in (None, CapacityRange(size), CapacityRange(size // 2)):
        assert here.node.expand(ExpandRequest(volume_id=volume, path="/s", wanted=wanted)) == size
    assert [call for call in here.storage.calls if call[0] == "fill"] == [("fill", volume)] * 3


@pytest.mark.parametrize("wanted", [CapacityRange(1 << 40), CapacityRange(0, 4096)], ids=str)
def test_an_expansion_the_volume_does_not_have_is_out_of_range(
    wanted: CapacityRange, rig: Make
) -> None:
    """The controller grows first, and a volume never shrinks."""
    here = rig()
    asked = ExpandRequest(volume_id=staged(here), path="/s", wanted=wanted)
    assert code(here.node.expand, asked) == Code.OUT_OF_RANGE


def test_a_driver_that_grows_on_nodes_only_grows_here(rig: Make) -> None:
    """node EXPAND_VOLUME without the controller's; the pool pays."""
    here = rig("controller:EXPAND_VOLUME")
    volume = staged(here)
    charged = sum(here.state.tables.charged.values())
    more = CapacityRange(3 << 30)
    assert here.node.expand(ExpandRequest(volume_id=volume, path="/s", wanted=more)) == 3 << 30
    assert here.state.tables.volumes[volume].capacity == 3 << 30
    assert sum(here.state.tables.charged.values()) - charged == 2 << 30
    too_much = CapacityRange(15 << 40)
    here.state.tables.charged[here.state.tables.volumes[volume].pool] += 60 << 40
    asked = ExpandRequest(volume_id=volume, path="/s", wanted=too_much)
    assert code(here.node.expand, asked) == Code.OUT_OF_RANGE


def test_an_expansion_checks_place_and_capability(rig: Make) -> None:
    """Not staged or published there: NOT_FOUND; another capability: INVALID_ARGUMENT."""
    here = rig()
    volume = staged(here)
    assert code(here.node.expand, ExpandRequest(volume_id=volume, path="/t")) == Code.NOT_FOUND
    block = VolumeCapability("block", AccessMode.MULTI_NODE_MULTI_WRITER)
    asked = ExpandRequest(volume_id=volume, path="/s", capability=block)
    assert code(here.node.expand, asked) == Code.INVALID_ARGUMENT
    here.node.expand(attrs.evolve(asked, capability=SHARED))


def test_unknown_sizes_are_not_told(rig: Make) -> None:
    """capacity_bytes 0 = unknown, as for the volume itself."""
    here = rig(report_capacity=False)
    assert here.node.expand(ExpandRequest(volume_id=staged(here), path="/s")) == 0


# -- health -------------------------------------------------------------------------------------


def test_health_is_of_the_volume_and_of_this_node(rig: Make) -> None:
    """Paths are not looked at: kubelet names some that no call ever saw."""
    here = rig()
    volume = here.volume()
    here.state.health.break_volume(volume, "DEGRADED", "Slow")
    here.state.health.break_volume(volume, "INACCESSIBLE", "Cut", node_id="node-1")
    assert [fault.reason for fault in here.node.health(volume).faults] == ["Slow"]
    faults = here.other.health(volume, "/never/published", "/never/staged").faults
    assert [fault.reason for fault in faults] == ["Slow", "Cut"]
    assert code(here.node.health, volume, "relative") == Code.INVALID_ARGUMENT
    assert code(here.node.health, volume, "", "relative") == Code.INVALID_ARGUMENT
    assert code(here.node.health, "") == Code.INVALID_ARGUMENT


def test_no_two_entries_have_the_same_status_and_reason(rig: Make) -> None:
    """Though a fault of all nodes and one of this node may agree."""
    here = rig()
    volume = here.volume()
    for node_id in ("", "node-0"):
        here.state.health.break_volume(volume, "DEGRADED", "Slow", node_id=node_id)
        here.state.health.break_storage("STORAGE_DEGRADED", "Slow", node_id=node_id)
    assert len(here.node.health(volume).faults) == 1
    assert len(here.node.storage_health({})) == 1


def test_storage_health_is_of_this_node(rig: Make) -> None:
    """One node may have lost what others still reach."""
    here = rig()
    here.state.health.break_storage("STORAGE_UNREACHABLE", "Gone", node_id="node-1")
    assert here.node.storage_health({}) == []
    assert [fault.reason for fault in here.other.storage_health({})] == ["Gone"]


# -- when things fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("access", ["mount", "block"])
def test_what_cannot_be_written_down_is_taken_back(access: Access, rig: Make) -> None:
    """A full disk: the call fails, nothing is mounted, and the repetition succeeds."""
    here = rig()
    volume = here.volume(access=access)
    one = VolumeCapability(access, AccessMode.MULTI_NODE_MULTI_WRITER)
    here.full.append(FULL)
    assert code(stage, here.node, volume, capability=one) == Code.RESOURCE_EXHAUSTED
    assert not here.storage.holds(volume, "/s")
    here.full.clear()
    stage(here.node, volume, capability=one)
    here.full.append(FULL)
    assert code(publish, here.node, volume, capability=one) == Code.RESOURCE_EXHAUSTED
    assert not here.storage.holds(volume, "/t")
    here.full.clear()
    publish(here.node, volume, capability=one)
    here.full.append(FULL)
    assert code(here.node.unpublish, volume, "/t") == Code.RESOURCE_EXHAUSTED
    here.full.clear()
    here.node.unpublish(volume, "/t")
    here.node.unstage(volume, "/s")
    assert here.state.tables.uses == {}


@pytest.mark.parametrize("call", ["stage", "publish", "unpublish", "unstage"])
def test_a_refusal_of_the_machine_changes_no_record(call: str, rig: Make) -> None:
    """The answer is the machine's; records stay as they were, so that a repetition continues."""
    here = rig()
    volume = here.volume()
    steps = {
        "stage": lambda: stage(here.node, volume),
        "publish": lambda: publish(here.node, volume),
        "unpublish": lambda: here.node.unpublish(volume, "/t"),
        "unstage": lambda: here.node.unstage(volume, "/s"),
    }
    for name, step in steps.items():
        if name == call:
            before = dict(here.state.tables.uses)
            here.storage.failing[call] = Refused(Code.ABORTED, "busy")
            assert code(step) == Code.ABORTED
            assert here.state.tables.uses == before
            here.storage.failing.clear()
        step()
    assert here.state.tables.uses == {}


def test_one_call_a_volume_works_at_a_time_and_others_go_on(rig: Make) -> None:
    """While the storage is slow for one volume, health of it and calls for others are answered."""
    here = rig("STAGE_UNSTAGE_VOLUME", pending="abort")
    slow, quick = here.volume(name="slow"), here.volume(name="quick")
    entered, released = threading.Event(), threading.Event()
    work = here.storage.publish

    def waiting(key: str, *rest: Any) -> None:
        if key == slow:
            entered.set()
            released.wait(30)
        work(key, *rest)

    object.__setattr__(here.storage, "publish", waiting)
    first = threading.Thread(target=publish, args=(here.node, slow))
    first.start()
    try:
        assert entered.wait(30)
        assert code(here.node.unpublish, slow, "/t") == Code.ABORTED
        assert here.node.health(slow).faults == ()
        publish(here.node, quick, "/quick")
    finally:
        released.set()
        first.join(30)
    here.node.unpublish(slow, "/t")
