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
    request = {"volume_id": volume, "target": target, "staging": "/s", "capability": SHARED}
    node.publish(PublishRequest(**{**request, **change}))


def code(call: Callable[..., object], *args: Any, **keywords: Any) -> Code:
    """How a call ends."""
    try:
        call(*args, **keywords)
    except Refused as refused:
        return refused.code
    return Code.OK


# -- what the node is ---------------------------------------------------------------------------


def test_the_node_tells_its_place_only_with_the_capability(new_rig: Make) -> None:
    """accessible_topology needs VOLUME_ACCESSIBILITY_CONSTRAINTS."""
    info = new_rig().node.info()
    assert (info.node_id, info.most_volumes) == ("node-0", 64)
    assert info.place.segments == (("topology.csi.refimpl.example/zone", "zone-a"),)
    assert new_rig("VOLUME_ACCESSIBILITY_CONSTRAINTS").node.info().place is None


@pytest.mark.parametrize("revision", ["1.12", "1.13"])
def test_capabilities_follow_the_revision(revision: str, new_rig: Make) -> None:
    """Conditions are gone in 1.13, health is new there."""
    names = set(new_rig(revision=revision).node.capabilities())
    assert ("VOLUME_CONDITION" in names) == (revision == "1.12")
    assert ("GET_VOLUME_HEALTH" in names) == (revision == "1.13")


def test_calls_of_another_revision_or_without_capability_are_unimplemented(new_rig: Make) -> None:
    """12 tells a caller never to try again."""
    old = new_rig(revision="1.12").node
    assert code(old.health, "v") == Code.UNIMPLEMENTED
    assert code(old.storage_health, {}) == Code.UNIMPLEMENTED
    bare = new_rig("STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS", "EXPAND_VOLUME").node
    assert code(stage, bare, "v") == Code.UNIMPLEMENTED
    assert code(bare.unstage, "v", "/s") == Code.UNIMPLEMENTED
    assert code(bare.stats, "v", "/t") == Code.UNIMPLEMENTED
    assert code(bare.expand, ExpandRequest(volume_id="v", path="/t")) == Code.UNIMPLEMENTED
    away = new_rig(node_service=False).node
    assert code(away.info) == code(away.capabilities) == Code.UNIMPLEMENTED
    assert code(publish, away, "v") == code(away.unpublish, "v", "/t") == Code.UNIMPLEMENTED


# -- staging ------------------------------------------------------------------------------------


def test_staging_again_is_a_repeat(new_rig: Make) -> None:
    """The storage is asked each time, so that what was taken away meanwhile comes back."""
    rig = new_rig()
    volume = rig.volume()
    for _ in range(3):
        stage(rig.node, volume)
    assert len(rig.state.tables.stagings) == 1
    assert [call[0] for call in rig.storage.calls] == ["stage"] * 3


def test_staging_tells_the_storage_the_file_system(new_rig: Make) -> None:
    """An empty fs_type means the one the volume was created for."""
    rig = new_rig(default_fs="xfs")
    stage(rig.node, rig.volume())
    assert rig.storage.calls[0][3].fs_type == "xfs"


def test_another_capability_at_the_same_path_exists_already(new_rig: Make) -> None:
    """Whatever part of it differs."""
    rig = new_rig()
    volume = rig.volume()
    stage(rig.node, volume)
    for other in (attrs.evolve(SHARED, mount_flags=("ro",)), attrs.evolve(SHARED, access="block")):
        assert code(stage, rig.node, volume, capability=other) == Code.ALREADY_EXISTS


def test_a_second_path_or_a_shared_path_is_refused(new_rig: Make) -> None:
    """A node stages a volume once, and each volume somewhere else."""
    rig = new_rig()
    one, two = rig.volume(name="one"), rig.volume(name="two")
    stage(rig.node, one)
    assert code(stage, rig.node, one, "/elsewhere") == Code.FAILED_PRECONDITION
    assert code(stage, rig.node, two, "/s/") == Code.FAILED_PRECONDITION
    stage(rig.other, one, "/elsewhere")


@pytest.mark.parametrize(
    "capability",
    [
        VolumeCapability("block", AccessMode.SINGLE_NODE_WRITER),
        VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER),
        VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER, "xfs"),
    ],
    ids=["access type", "mode", "file system"],
)
def test_what_the_volume_was_not_made_for_fails(
    capability: VolumeCapability, new_rig: Make
) -> None:
    """NodeStageVolume answers an unsupported capability with FAILED_PRECONDITION."""
    rig = new_rig()
    volume = rig.volume(AccessMode.SINGLE_NODE_WRITER)
    assert code(stage, rig.node, volume, capability=capability) == Code.FAILED_PRECONDITION
    request = {"capability": capability}
    assert code(publish, rig.node, volume, **request) == Code.FAILED_PRECONDITION


def test_modes_six_and_seven_need_the_capability_on_the_node(new_rig: Make) -> None:
    """SINGLE_NODE_MULTI_WRITER of the node, whatever the controller offers."""
    mode = AccessMode.SINGLE_NODE_SINGLE_WRITER
    capability = VolumeCapability("mount", mode)
    rig = new_rig()
    stage(rig.node, rig.volume(mode), capability=capability)
    rig = new_rig("node:SINGLE_NODE_MULTI_WRITER")
    assert (
        code(stage, rig.node, rig.volume(mode), capability=capability) == Code.FAILED_PRECONDITION
    )


def test_an_unknown_volume_is_not_found(new_rig: Make) -> None:
    """In every call that needs one."""
    node = new_rig().node
    assert code(stage, node, "nobody") == code(publish, node, "nobody") == Code.NOT_FOUND
    assert code(node.stats, "nobody", "/t") == Code.NOT_FOUND
    assert code(node.expand, ExpandRequest(volume_id="nobody", path="/t")) == Code.NOT_FOUND
    assert code(node.health, "nobody") == Code.NOT_FOUND


def test_a_staging_path_that_is_no_directory_fails(new_rig: Make) -> None:
    """The caller makes it; nothing is made elsewhere and nothing remembered."""
    rig = new_rig()
    rig.storage.directories = {"/made"}
    volume = rig.volume()
    assert code(stage, rig.node, volume, "/missing") == Code.FAILED_PRECONDITION
    assert (rig.storage.calls, rig.state.tables.stagings) == ([], {})
    stage(rig.node, volume, "/made")


def test_a_volume_must_be_attached_where_the_driver_attaches(new_rig: Make) -> None:
    """Stage before ControllerPublishVolume is a mistake of the caller; a switch forgives it."""
    rig = new_rig()
    volume = rig.volume(attached=False)
    assert code(stage, rig.node, volume) == Code.FAILED_PRECONDITION
    assert not rig.storage.calls
    for lenient in (new_rig("PUBLISH_UNPUBLISH_VOLUME"), new_rig(require_attachment=False)):
        stage(lenient.node, lenient.volume(attached=False))


def test_unstaging_undoes_and_may_be_repeated(new_rig: Make) -> None:
    """A success, too, for a path never used and for a volume never heard of."""
    rig = new_rig()
    volume = rig.volume()
    stage(rig.node, volume)
    for _ in range(2):
        rig.node.unstage(volume, "/s")
    rig.node.unstage(volume, "/never")
    rig.node.unstage("nobody", "/s")
    assert not rig.state.tables.stagings
    assert [call[0] for call in rig.storage.calls] == ["stage", "unstage"]


def test_unstaging_at_the_path_of_another_volume_leaves_it(new_rig: Make) -> None:
    """A caller in confusion must not hurt others."""
    rig = new_rig()
    one, two = rig.volume(name="one"), rig.volume(name="two")
    stage(rig.node, one)
    rig.node.unstage(two, "/s")
    assert ("node-0", "/s") in rig.state.tables.stagings


def test_unstaging_while_published_fails_and_keeps_the_publication(new_rig: Make) -> None:
    """Every target goes before the staging path."""
    rig = new_rig()
    volume = rig.volume()
    stage(rig.node, volume)
    publish(rig.node, volume)
    assert code(rig.node.unstage, volume, "/s") == Code.FAILED_PRECONDITION
    rig.node.unpublish(volume, "/t")
    rig.node.unstage(volume, "/s")


def test_work_without_a_record_is_undone(new_rig: Make) -> None:
    """A driver killed between mounting and writing down meets the caller's clean-up later."""
    rig = new_rig()
    volume = rig.volume()
    rig.storage.stage(volume, "/s", SHARED)
    rig.storage.publish(volume, "/t", SHARED, False, "/s")
    rig.storage.calls.clear()
    rig.node.unpublish(volume, "/t")
    rig.node.unstage(volume, "/s")
    assert [call[:3] for call in rig.storage.calls] == [
        ("unpublish", volume, "/t"),
        ("unstage", volume, "/s"),
    ]


# -- publishing ---------------------------------------------------------------------------------


def staged(rig: Any, **how: Any) -> str:
    """A volume staged at /s."""
    volume: str = rig.volume(**how)
    stage(rig.node, volume)
    return volume


@pytest.mark.parametrize("staging", ["", "/never"])
def test_publishing_needs_the_staging_path(staging: str, new_rig: Make) -> None:
    """With STAGE_UNSTAGE_VOLUME; without it whatever is sent there is ignored."""
    rig = new_rig()
    volume = staged(rig)
    assert code(publish, rig.node, volume, staging=staging) == Code.FAILED_PRECONDITION
    rig = new_rig("STAGE_UNSTAGE_VOLUME")
    publish(rig.node, rig.volume(), staging=staging)


def test_publishing_from_the_staging_path_of_another_volume_fails(new_rig: Make) -> None:
    """It would show the wrong data."""
    rig = new_rig()
    staged(rig, name="one")
    two = rig.volume(name="two")
    assert code(publish, rig.node, two) == Code.FAILED_PRECONDITION


def test_publishing_again_is_a_repeat_whatever_contexts_and_secrets_say(new_rig: Make) -> None:
    """Kubernetes sends fresh tokens to the same target over and over (requiresRepublish)."""
    rig = new_rig()
    volume = staged(rig)
    publish(rig.node, volume, volume_context={"token": "1"}, secrets={"s": "1"})
    publish(rig.node, volume, "/t/", volume_context={"token": "2"}, secrets={"s": "2"})
    publish(rig.node, volume, publish_context={"other": "x"})
    assert len(rig.state.tables.publications) == 1
    assert [call[0] for call in rig.storage.calls].count("publish") == 3


def test_no_token_is_remembered(new_rig: Make) -> None:
    """Neither in a record nor in what is written down."""
    rig = new_rig()
    volume = staged(rig)
    publish(rig.node, volume, volume_context={"token": "canary"}, secrets={"s": "canary"})
    assert "canary" not in repr(rig.changes)


def test_a_target_of_another_volume_is_refused_and_left_alone(new_rig: Make) -> None:
    """Two volumes at one path would hide one another."""
    rig = new_rig("STAGE_UNSTAGE_VOLUME")
    one, two = rig.volume(name="one"), rig.volume(name="two")
    publish(rig.node, one)
    assert code(publish, rig.node, two) == Code.FAILED_PRECONDITION
    rig.node.unpublish(two, "/t")
    assert rig.state.tables.publications["node-0", "/t"].volume_id == one


def test_other_nodes_have_targets_of_their_own(new_rig: Make) -> None:
    """The table is about one node."""
    rig = new_rig("STAGE_UNSTAGE_VOLUME")
    volume = rig.volume()
    publish(rig.node, volume)
    publish(rig.other, volume, readonly=True)
    assert len(rig.state.tables.publications) == 2


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
    mode: AccessMode, asked: bool, readonly: bool, new_rig: Make
) -> None:
    """The storage is told what holds in the end."""
    rig = new_rig("STAGE_UNSTAGE_VOLUME")
    capability = VolumeCapability("mount", mode)
    publish(rig.node, rig.volume(mode), readonly=asked, capability=capability)
    assert rig.storage.calls[-1][4] is readonly


def test_what_is_attached_read_only_is_published_read_only(new_rig: Make) -> None:
    """The node cannot write through an attachment that cannot."""
    rig = new_rig("STAGE_UNSTAGE_VOLUME")
    volume = rig.volume(attached=False)
    rig.state.attachments.publish(volume, "node-0", SHARED, True, {}, {})
    publish(rig.node, volume)
    assert rig.storage.calls[-1][4] is True


def test_unpublishing_undoes_and_may_be_repeated(new_rig: Make) -> None:
    """A success, too, for a target never used and for a volume never heard of."""
    rig = new_rig()
    volume = staged(rig)
    publish(rig.node, volume)
    for _ in range(2):
        rig.node.unpublish(volume, "/t")
    rig.node.unpublish(volume, "/never")
    rig.node.unpublish("nobody", "/t")
    assert not rig.state.tables.publications
    assert [call[0] for call in rig.storage.calls].count("unpublish") == 1


# -- inline volumes -----------------------------------------------------------------------------

INLINE = {"volume_context": {"csi.storage.k8s.io/ephemeral": "true"}, "capability": WRITER}


def test_an_inline_volume_lives_as_long_as_it_is_published(new_rig: Make) -> None:
    """No create, no attach, no stage: one publish brings it, one unpublish ends it."""
    rig = new_rig(ephemeral=True)
    for _ in range(2):
        publish(rig.node, "csi-1", staging="", **INLINE)
    assert rig.state.tables.volumes["csi-1"].ephemeral
    assert rig.node.stats("csi-1", "/t").usage.bytes[0] == rig.state.settings.default_size
    for _ in range(2):
        rig.node.unpublish("csi-1", "/t")
    assert (rig.state.tables.volumes, rig.state.tables.uses) == ({}, {})
    assert rig.storage.calls[-1] == ("destroy", "csi-1")


def test_an_inline_volume_that_cannot_be_shown_is_not_kept(new_rig: Make) -> None:
    """A failed publish leaves nothing."""
    rig = new_rig(ephemeral=True)
    rig.storage.failing["publish"] = Refused(Code.FAILED_PRECONDITION, "no parent")
    assert code(publish, rig.node, "csi-1", staging="", **INLINE) == Code.FAILED_PRECONDITION
    assert not rig.state.tables.volumes
    assert rig.storage.calls[-1] == ("destroy", "csi-1")


def test_inline_volumes_need_a_driver_that_makes_them(new_rig: Make) -> None:
    """Elsewhere the id is simply unknown."""
    assert code(publish, new_rig().node, "csi-1", **INLINE) == Code.NOT_FOUND
    assert code(publish, new_rig(ephemeral=True).node, "csi-1") == Code.NOT_FOUND


# -- statistics, expansion ----------------------------------------------------------------------


def test_statistics_are_told_where_the_volume_is_and_nowhere_else(new_rig: Make) -> None:
    """Staging path and target alike; a relative path is no place at all."""
    rig = new_rig()
    volume = staged(rig)
    publish(rig.node, volume)
    for path in ("/s", "/t", "/t/"):
        assert rig.node.stats(volume, path).usage.bytes[0] == rig.state.settings.default_size
    for path in ("/elsewhere", "t", "some/path"):
        assert code(rig.node.stats, volume, path) == Code.NOT_FOUND
    assert code(rig.other.stats, volume, "/t") == Code.NOT_FOUND
    rig.node.unpublish(volume, "/t")
    assert code(rig.node.stats, volume, "/t") == Code.NOT_FOUND
    assert code(rig.node.stats, "", "/t") == Code.INVALID_ARGUMENT
    assert code(rig.node.stats, volume, "") == Code.INVALID_ARGUMENT


def test_a_condition_is_told_in_1_12_and_never_in_1_13(new_rig: Make) -> None:
    """Abnormal while a fault of the volume is known on this node."""
    rig = new_rig(revision="1.12")
    volume = staged(rig)
    assert rig.node.stats(volume, "/s").condition == (False, "the volume works")
    rig.state.health.break_volume(volume, "DEGRADED", "Slow", "slow", "node-1")
    assert rig.node.stats(volume, "/s").condition == (False, "the volume works")
    rig.state.health.break_volume(volume, "DEGRADED", "Slow", "very slow", "node-0")
    assert rig.node.stats(volume, "/s").condition == (True, "very slow")
    new = new_rig()
    assert new.node.stats(staged(new), "/s").condition is None


def test_statistics_are_due_with_conditions_alone(new_rig: Make) -> None:
    """1.12: VOLUME_CONDITION without GET_VOLUME_STATS."""
    rig = new_rig("GET_VOLUME_STATS", revision="1.12")
    assert rig.node.stats(staged(rig), "/s").condition is not None


def test_the_node_follows_the_controller_to_the_new_size(new_rig: Make) -> None:
    """Without a range to the size there is; a repetition and a smaller request change nothing."""
    rig = new_rig()
    volume = staged(rig)
    size = 2 * rig.state.settings.default_size
    rig.state.changes.expand(volume, CapacityRange(size), None, {})
    for requested in (None, CapacityRange(size), CapacityRange(size // 2)):
        assert rig.node.expand(ExpandRequest(volume_id=volume, path="/s", wanted=requested)) == size
    assert [call for call in rig.storage.calls if call[0] == "fill"] == [("fill", volume)] * 3


@pytest.mark.parametrize("requested", [CapacityRange(1 << 40), CapacityRange(0, 4096)], ids=str)
def test_an_expansion_the_volume_does_not_have_is_out_of_range(
    requested: CapacityRange, new_rig: Make
) -> None:
    """The controller grows first, and a volume never shrinks."""
    rig = new_rig()
    request = ExpandRequest(volume_id=staged(rig), path="/s", wanted=requested)
    assert code(rig.node.expand, request) == Code.OUT_OF_RANGE


def test_a_driver_that_grows_on_nodes_only_grows_here(new_rig: Make) -> None:
    """node EXPAND_VOLUME without the controller's; the pool pays."""
    rig = new_rig("controller:EXPAND_VOLUME")
    volume = staged(rig)
    charged = sum(rig.state.tables.charged.values())
    more = CapacityRange(3 << 30)
    assert rig.node.expand(ExpandRequest(volume_id=volume, path="/s", wanted=more)) == 3 << 30
    assert rig.state.tables.volumes[volume].capacity == 3 << 30
    assert sum(rig.state.tables.charged.values()) - charged == 2 << 30
    too_much = CapacityRange(15 << 40)
    rig.state.tables.charged[rig.state.tables.volumes[volume].pool] += 60 << 40
    request = ExpandRequest(volume_id=volume, path="/s", wanted=too_much)
    assert code(rig.node.expand, request) == Code.OUT_OF_RANGE


def test_an_expansion_checks_place_and_capability(new_rig: Make) -> None:
    """Not staged or published there: NOT_FOUND; another capability: INVALID_ARGUMENT."""
    rig = new_rig()
    volume = staged(rig)
    assert code(rig.node.expand, ExpandRequest(volume_id=volume, path="/t")) == Code.NOT_FOUND
    block = VolumeCapability("block", AccessMode.MULTI_NODE_MULTI_WRITER)
    request = ExpandRequest(volume_id=volume, path="/s", capability=block)
    assert code(rig.node.expand, request) == Code.INVALID_ARGUMENT
    rig.node.expand(attrs.evolve(request, capability=SHARED))


def test_unknown_sizes_are_not_told(new_rig: Make) -> None:
    """capacity_bytes 0 = unknown, as for the volume itself."""
    rig = new_rig(report_capacity=False)
    assert rig.node.expand(ExpandRequest(volume_id=staged(rig), path="/s")) == 0


# -- health -------------------------------------------------------------------------------------


def test_health_is_of_the_volume_and_of_this_node(new_rig: Make) -> None:
    """Paths are not looked at: kubelet names some that no call ever saw."""
    rig = new_rig()
    volume = rig.volume()
    rig.state.health.break_volume(volume, "DEGRADED", "Slow")
    rig.state.health.break_volume(volume, "INACCESSIBLE", "Cut", node_id="node-1")
    assert [fault.reason for fault in rig.node.health(volume).faults] == ["Slow"]
    faults = rig.other.health(volume, "/never/published", "/never/staged").faults
    assert [fault.reason for fault in faults] == ["Slow", "Cut"]
    assert code(rig.node.health, volume, "relative") == Code.INVALID_ARGUMENT
    assert code(rig.node.health, volume, "", "relative") == Code.INVALID_ARGUMENT
    assert code(rig.node.health, "") == Code.INVALID_ARGUMENT


def test_no_two_entries_have_the_same_status_and_reason(new_rig: Make) -> None:
    """Though a fault of all nodes and one of this node may agree."""
    rig = new_rig()
    volume = rig.volume()
    for node_id in ("", "node-0"):
        rig.state.health.break_volume(volume, "DEGRADED", "Slow", node_id=node_id)
        rig.state.health.break_storage("STORAGE_DEGRADED", "Slow", node_id=node_id)
    assert len(rig.node.health(volume).faults) == 1
    assert len(rig.node.storage_health({})) == 1


def test_storage_health_is_of_this_node(new_rig: Make) -> None:
    """One node may have lost what others still reach."""
    rig = new_rig()
    rig.state.health.break_storage("STORAGE_UNREACHABLE", "Gone", node_id="node-1")
    assert rig.node.storage_health({}) == []
    assert [fault.reason for fault in rig.other.storage_health({})] == ["Gone"]


# -- when things fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("access", ["mount", "block"])
def test_what_cannot_be_written_down_is_taken_back(access: Access, new_rig: Make) -> None:
    """A full disk: the call fails, nothing is mounted, and the repetition succeeds."""
    rig = new_rig()
    volume = rig.volume(access=access)
    capability = VolumeCapability(access, AccessMode.MULTI_NODE_MULTI_WRITER)
    rig.full.append(FULL)
    assert code(stage, rig.node, volume, capability=capability) == Code.RESOURCE_EXHAUSTED
    assert not rig.storage.holds(volume, "/s")
    rig.full.clear()
    stage(rig.node, volume, capability=capability)
    rig.full.append(FULL)
    assert code(publish, rig.node, volume, capability=capability) == Code.RESOURCE_EXHAUSTED
    assert not rig.storage.holds(volume, "/t")
    rig.full.clear()
    publish(rig.node, volume, capability=capability)
    rig.full.append(FULL)
    assert code(rig.node.unpublish, volume, "/t") == Code.RESOURCE_EXHAUSTED
    rig.full.clear()
    rig.node.unpublish(volume, "/t")
    rig.node.unstage(volume, "/s")
    assert rig.state.tables.uses == {}


@pytest.mark.parametrize("call", ["stage", "publish", "unpublish", "unstage"])
def test_a_refusal_of_the_machine_changes_no_record(call: str, new_rig: Make) -> None:
    """The answer is the machine's; records stay as they were, so that a repetition continues."""
    rig = new_rig()
    volume = rig.volume()
    steps = {
        "stage": lambda: stage(rig.node, volume),
        "publish": lambda: publish(rig.node, volume),
        "unpublish": lambda: rig.node.unpublish(volume, "/t"),
        "unstage": lambda: rig.node.unstage(volume, "/s"),
    }
    for name, step in steps.items():
        if name == call:
            before = dict(rig.state.tables.uses)
            rig.storage.failing[call] = Refused(Code.ABORTED, "busy")
            assert code(step) == Code.ABORTED
            assert rig.state.tables.uses == before
            rig.storage.failing.clear()
        step()
    assert rig.state.tables.uses == {}


def test_one_call_a_volume_works_at_a_time_and_others_go_on(new_rig: Make) -> None:
    """While the storage is slow for one volume, health of it and calls for others are answered."""
    rig = new_rig("STAGE_UNSTAGE_VOLUME", pending="abort")
    slow, quick = rig.volume(name="slow"), rig.volume(name="quick")
    entered, released = threading.Event(), threading.Event()
    work = rig.storage.publish

    def waiting(key: str, *others: Any) -> None:
        if key == slow:
            entered.set()
            released.wait(30)
        work(key, *others)

    object.__setattr__(rig.storage, "publish", waiting)
    first = threading.Thread(target=publish, args=(rig.node, slow))
    first.start()
    try:
        assert entered.wait(30)
        assert code(rig.node.unpublish, slow, "/t") == Code.ABORTED
        assert rig.node.health(slow).faults == ()
        publish(rig.node, quick, "/quick")
    finally:
        released.set()
        first.join(30)
    rig.node.unpublish(slow, "/t")
