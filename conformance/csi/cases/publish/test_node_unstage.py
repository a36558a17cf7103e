"""NodeUnstageVolume: the end of a volume on a node, whatever was there before."""

from __future__ import annotations

import errno
from functools import partial

import pytest

from conformance.csi.common import content, dead_mounts, mounts, staged
from conformance.csi.common.refusals import code_of, expect_refusal
from conformance.csi.needs import (
    DATA,
    FILES,
    FUSE,
    MOUNTS,
    NODE,
    ROOT,
    SAME_HOST,
    STAGE_UNSTAGE_VOLUME,
    VOLUMES,
)
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 NodeUnstageVolume"
_NEEDS = (NODE, STAGE_UNSTAGE_VOLUME)
_VOLUME = (*_NEEDS, VOLUMES, SAME_HOST)


@case("CSI-STG-013", _SOURCE, needs=_VOLUME)
def test_an_unstage_without_its_fields_is_refused(csi: CsiTarget) -> None:
    """An OK makes kubelet remove a directory in which the volume is still mounted."""
    mounted = csi.shared.mount()
    with together() as check:
        for field in ("volume_id", "staging_target_path"):
            with check:
                lacking = pb.NodeUnstageVolumeRequest(
                    volume_id=mounted.volume.volume_id, staging_target_path=mounted.staging_path
                )
                lacking.ClearField(field)
                expect_status(
                    partial(csi.node.NodeUnstageVolume, lacking),
                    {Code.INVALID_ARGUMENT},
                    f"NodeUnstageVolume without {field} is refused",
                )


@case("CSI-STG-014", _SOURCE, needs=_VOLUME)
def test_what_is_not_staged_is_unstaged_with_success(csi: CsiTarget) -> None:
    """Kubelet unstages what it is not sure of: after a stage that timed out, after a crash, after
    somebody has tidied up by hand. An error there is repeated for ever, and the volume stays
    attached."""
    request = staged.ready(csi)
    with together() as check:
        with check:
            _expect_done(csi, request, "of a volume that was never staged")
        csi.node.NodeStageVolume(request)
        with check:
            _expect_done(csi, request, "of a staged volume")
        with check:
            _expect_done(csi, request, "for the second time")
        if not csi.has(FILES) or (not csi.has(ROOT) and csi.has(MOUNTS)):
            return
        csi.node.NodeStageVolume(request)
        mounts.take_away(request.staging_target_path)
        with check:
            _expect_done(csi, request, "whose directory has vanished")


def _expect_done(csi: CsiTarget, request: pb.NodeStageVolumeRequest, what: str) -> None:
    expect_status(
        lambda: csi.node.NodeUnstageVolume(staged.back(request)),
        {Code.OK},
        f"NodeUnstageVolume {what} is done",
    )


@case("CSI-STG-015", _SOURCE, needs=[*_NEEDS, SAME_HOST])
def test_an_unknown_volume_is_unstaged_or_not_found(csi: CsiTarget) -> None:
    """A volume may be deleted while a node still has to clean up after it; both answers let the
    node go on."""
    request = pb.NodeUnstageVolumeRequest(
        volume_id=csi.requests.unknown_volume_id(), staging_target_path=csi.steps.staging_path()
    )
    expect_status(
        lambda: csi.node.NodeUnstageVolume(request),
        {Code.OK, Code.NOT_FOUND},
        "NodeUnstageVolume of a volume that does not exist is done or refused",
    )


@case("CSI-STG-017", "robustness: unstaged while published", needs=_VOLUME)
def test_a_volume_is_not_unstaged_under_a_pod(csi: CsiTarget) -> None:
    """Kubelet can lose count of the pods that use a volume. With an OK it goes on to detach, and
    the pod writes into nothing."""
    mounted = csi.steps.mount()
    request = pb.NodeUnstageVolumeRequest(
        volume_id=mounted.volume.volume_id, staging_target_path=mounted.staging_path
    )
    refusal = expect_refusal(
        lambda: csi.node.NodeUnstageVolume(request),
        "NodeUnstageVolume of a volume that is published is refused, best as FAILED_PRECONDITION",
    )
    expect_status(
        lambda: csi.node.NodePublishVolume(mounted.request),
        {Code.OK},
        f"a volume is published as before an unstage that was refused ({refusal.code.name})",
    )
    if csi.has(DATA):
        written = content.fresh()
        content.write(mounted, written)
        rule = "after an unstage that was refused the volume can be used as before"
        content.expect_content(mounted, written, rule)


@case("CSI-STG-019", "robustness: a dead mount", needs=[*_NEEDS, VOLUMES, MOUNTS, ROOT, FUSE])
def test_an_unstage_of_a_dead_mount_is_done_or_tells(csi: CsiTarget) -> None:
    """Kubelet detaches the volume after an OK, and removes the directory under a mount at which
    every look fails."""
    with together() as check:
        for error in dead_mounts.ERRORS:
            request = staged.ready(csi)
            path = request.staging_target_path
            csi.node.NodeStageVolume(request)
            if not mounts.layers(path):
                pytest.skip("the driver mounts nothing where it stages")
            mounts.uncover(path)
            with check, dead_mounts.dead_mount(path, error):
                code = code_of(partial(csi.node.NodeUnstageVolume, staged.back(request)))
                expect(
                    code != Code.OK or not mounts.layers(path),
                    f"NodeUnstageVolume where stat fails with {errno.errorcode[error]} is OK only"
                    " when nothing is mounted there",
                    wanted="no OK, or no mount",
                    got=dead_mounts.left(path),
                )
            with check:
                _expect_done(csi, request, f"once what was dead is unmounted ({code.name} before)")
