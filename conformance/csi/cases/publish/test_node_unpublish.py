"""NodeUnpublishVolume: what it takes away, and that it may be asked for what is gone already."""

from __future__ import annotations

from functools import partial

import pytest

from conformance.csi.common import content, mounts
from conformance.csi.common.copies import access_types
from conformance.csi.common.published import expect_gone, publish, ready_as
from conformance.csi.common.refusals import code_of
from conformance.csi.needs import FILES, KINDS, MOUNTS, NODE, ROOT, SAME_HOST, VOLUMES
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 NodeUnpublishVolume"
_BEHIND = "robustness: a target changed behind the driver"
_VOLUME = (NODE, VOLUMES, SAME_HOST)
# What a caller takes for "not now": it asks again, and finds the volume as it was.
_RETRIABLE = {Code.ABORTED, Code.UNAVAILABLE, Code.FAILED_PRECONDITION, Code.INTERNAL}


@case("CSI-NUNP-001", _SOURCE, needs=_VOLUME)
def test_an_unpublish_without_its_fields_is_refused(csi: CsiTarget) -> None:
    """A driver that fills in what is missing unmounts what somebody else is using."""
    volume_id, target = csi.shared.volume().volume_id, csi.steps.target_path()
    with together() as check:
        for lacking, request in (
            ("volume_id", pb.NodeUnpublishVolumeRequest(target_path=target)),
            ("target_path", pb.NodeUnpublishVolumeRequest(volume_id=volume_id)),
        ):
            with check:
                expect_status(
                    partial(csi.node.NodeUnpublishVolume, request),
                    {Code.INVALID_ARGUMENT},
                    f"NodeUnpublishVolume without {lacking} is refused",
                )


@case("CSI-NUNP-002", _SOURCE, needs=[NODE, VOLUMES, KINDS])
def test_an_unpublish_leaves_nothing_at_the_target(csi: CsiTarget) -> None:
    """Kubelet does not let a pod go while something lies at its volume's path."""
    with together() as check:
        for block in access_types(csi):
            mounted = ready_as(csi, block=block)
            publish(csi, mounted)
            csi.steps.unmount(mounted)
            kind = "file or device of a block" if block else "directory of a mount"
            rule = f"NodeUnpublishVolume removes the {kind} volume from its target"
            with check:
                expect_gone(csi, mounted.target_path, rule)


@case("CSI-NUNP-003", _SOURCE, needs=_VOLUME)
def test_an_unpublish_of_what_is_not_published_is_done(csi: CsiTarget) -> None:
    """Kubelet asks after every attempt, also one that never came to anything, and asks again when
    the answer was lost; an error keeps the pod terminating for ever."""
    never = csi.steps.ready()
    expect_status(
        lambda: csi.steps.unmount(never),
        {Code.OK},
        "NodeUnpublishVolume at a target where the volume was never published is done",
    )
    publish(csi, never)
    for repeat in ("", "a second time "):
        expect_status(
            lambda: csi.steps.unmount(never), {Code.OK}, f"NodeUnpublishVolume sent {repeat}is done"
        )


@case("CSI-NUNP-004", _SOURCE, needs=[NODE, SAME_HOST])
def test_an_unpublish_of_an_unknown_volume_is_done_or_not_found(csi: CsiTarget) -> None:
    """After a node was set up anew its pods still have to go; any other error holds them."""
    request = pb.NodeUnpublishVolumeRequest(
        volume_id=csi.requests.unknown_volume_id(), target_path=csi.steps.target_path()
    )
    expect_status(
        lambda: csi.node.NodeUnpublishVolume(request),
        {Code.OK, Code.NOT_FOUND},
        "NodeUnpublishVolume of a volume that does not exist is done or answers NOT_FOUND",
    )


@case("CSI-NUNP-005", _BEHIND, needs=[NODE, VOLUMES, FILES])
def test_an_unpublish_is_done_where_the_target_is_gone(csi: CsiTarget) -> None:
    """An administrator who cleaned up by hand must not have made the pod undeletable."""
    mounted = csi.steps.mount()
    if (reason := ROOT.unmet(csi)) and mounts.layers(mounted.target_path):
        pytest.skip(reason)
    mounts.take_away(mounted.target_path)
    expect_status(
        lambda: csi.steps.unmount(mounted),
        {Code.OK},
        "NodeUnpublishVolume is done where somebody has removed the target",
    )


@case("CSI-NUNP-006", _BEHIND, needs=[NODE, VOLUMES, MOUNTS, ROOT])
def test_an_unpublish_removes_a_target_that_is_unmounted_already(csi: CsiTarget) -> None:
    """A node that was rebooted has the directories and not the mounts."""
    mounted = csi.steps.mount()
    mounts.uncover(mounted.target_path)
    expect_status(
        lambda: csi.steps.unmount(mounted),
        {Code.OK},
        "NodeUnpublishVolume is done where the target is no mount any more",
    )
    rule = "NodeUnpublishVolume removes a target that was unmounted before"
    expect_gone(csi, mounted.target_path, rule)


@case("CSI-NUNP-010", "robustness: a busy target", needs=[NODE, VOLUMES, MOUNTS, ROOT])
def test_a_target_in_use_is_unpublished_once_it_is_free(csi: CsiTarget) -> None:
    """A process that has not ended yet holds the volume; the next attempt must not find a driver
    that believes to be done, or one that has given up."""
    mounted = csi.steps.mount()
    with content.opened(mounted):
        code = code_of(lambda: csi.steps.unmount(mounted))
    expect(
        code == Code.OK or code in _RETRIABLE,
        "NodeUnpublishVolume of a target in use is done later or answered so that it is repeated",
        wanted=" or ".join(each.name for each in (Code.OK, *sorted(_RETRIABLE))),
        got=code.name,
    )
    expect_status(
        lambda: csi.steps.unmount(mounted),
        {Code.OK},
        f"NodeUnpublishVolume is done once nobody uses the target ({code.name} before)",
    )
    rule = "after that nothing is left at the target"
    expect_gone(csi, mounted.target_path, rule)
