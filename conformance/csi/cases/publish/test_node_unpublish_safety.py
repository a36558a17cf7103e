"""NodeUnpublishVolume never deletes what is not its own: data of volumes, and files of others."""

from __future__ import annotations

import contextlib
import errno
import os
from functools import partial

import pytest

from conformance.csi.common import content, dead_mounts, foreign, mounts
from conformance.csi.common.published import at_another_target, expect_gone
from conformance.csi.common.refusals import code_of
from conformance.csi.needs import (
    CREATE_DELETE_VOLUME,
    DATA,
    FUSE,
    MOUNT,
    MOUNTS,
    NODE,
    ROOT,
    SAME_HOST,
    VOLUMES,
)
from conformance.csi.steps import Mounted
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 NodeUnpublishVolume"


@case(
    "CSI-NUNP-007",
    "robustness: a target mounted twice",
    needs=[NODE, VOLUMES, DATA, MOUNTS, ROOT],
)
def test_a_target_that_is_mounted_twice_is_unmounted_twice(csi: CsiTarget) -> None:
    """Two calls at one time, or a driver restarted amid one, leave two mounts. A driver that takes
    off one and then deletes the target deletes the volume's files through the other."""
    mounted = csi.steps.mount()
    written = content.fresh()
    content.write(mounted, written)
    foreign.bind(csi, mounted.target_path, mounted.target_path)
    csi.scope.callback(lambda: mounts.uncover(mounted.target_path))
    code = code_of(lambda: csi.steps.unmount(mounted))
    left = mounts.layers(mounted.target_path)
    with together() as check:
        with check:
            _expect_kept(
                csi, mounted, written, f"after unpublishing a target mounted twice ({code.name})"
            )
        rule = "NodeUnpublishVolume takes off every mount of the volume at its target"
        with check:
            expect(
                code == Code.OK and not left,
                rule,
                wanted="OK, none left",
                got=f"{code.name}, {left}",
            )


@case("CSI-NUNP-009", _SOURCE, needs=[NODE, MOUNT, VOLUMES, DATA])
def test_an_unpublish_deletes_no_data(csi: CsiTarget) -> None:
    """The worst that a node plugin can do: after a crash the target is an ordinary directory with
    files in it, or with the volume mounted further below, and the driver removes it with all that
    it holds. An error is all right, and so is leaving it."""
    mounted = csi.steps.mount(capability=csi.requests.capability(block=False))
    written = content.fresh()
    content.write(mounted, written)
    if (reason := ROOT.unmet(csi)) and mounts.layers(mounted.target_path):
        pytest.skip(reason)
    inner = _mounted_below(csi, mounted)
    laid = foreign.inside(csi, mounted.target_path)
    code = code_of(lambda: csi.steps.unmount(mounted))
    rule = f"NodeUnpublishVolume ({code.name}) at a target that is no mount any more"
    harm = laid.harm()
    with together() as check:
        with check:
            expect(not harm, f"{rule} deletes no files", wanted="every file as it was", got=harm)
        laid.remove()
        if inner:
            mounts.take_away(inner)
        with check:
            _expect_kept(csi, mounted, written, f"after {rule}")


@case("CSI-NUNP-011", _SOURCE, needs=[NODE, CREATE_DELETE_VOLUME, SAME_HOST])
def test_the_target_of_another_volume_is_left_alone(csi: CsiTarget) -> None:
    """A caller that mixes up its paths must not take the files of a running pod away."""
    assert csi.paths is not None
    own, other = csi.shared.mount(), csi.steps.mount()
    written = content.fresh()
    if csi.has(DATA):
        content.write(other, written)
    mixed = pb.NodeUnpublishVolumeRequest(
        volume_id=own.volume.volume_id, target_path=other.target_path
    )
    before = csi.paths.kind(other.target_path)
    code = code_of(lambda: csi.node.NodeUnpublishVolume(mixed))
    rule = f"NodeUnpublishVolume of one volume at the target of another ({code.name}) leaves that"
    after = csi.paths.kind(other.target_path)
    with together() as check:
        with check:
            expect(after == before, rule, wanted=f"{before} at the target", got=after)
        if csi.has(MOUNTS):
            seen = mounts.layers(other.target_path)
            with check:
                expect(seen == 1, rule, wanted="the mount", got=f"{seen} mounts")
        if csi.has(DATA):
            with check:
                content.expect_content(other, written, rule)
        with check:
            expect_status(
                lambda: csi.node.NodePublishVolume(other.request),
                {Code.OK},
                "the other volume counts as published where it was",
            )


@case("CSI-NUNP-012", _SOURCE, needs=[NODE, VOLUMES, MOUNT, MOUNTS, ROOT, FUSE])
def test_an_unpublish_of_a_dead_mount_is_done_or_tells(csi: CsiTarget) -> None:
    """A FUSE server that died leaves a mount at which every look fails. A driver that takes that
    for "not there" lets the pod go, and the mount stays on the node for ever."""
    with together() as check:
        for error in dead_mounts.ERRORS:
            mounted = csi.steps.mount(capability=csi.requests.capability(block=False))
            with check:
                mounts.uncover(mounted.target_path)
                with dead_mounts.dead_mount(mounted.target_path, error):
                    code = code_of(partial(csi.steps.unmount, mounted))
                    left = dead_mounts.left(mounted.target_path)
                what = f"where stat fails with {errno.errorcode[error]}"
                rule = f"NodeUnpublishVolume {what} is OK only when nothing is left at the target"
                expect(code != Code.OK or not left, rule, wanted="no OK, or nothing", got=left)
                rule = f"NodeUnpublishVolume {what} is done once that is unmounted ({code.name})"
                expect_status(partial(csi.steps.unmount, mounted), {Code.OK}, rule)
                expect_gone(csi, mounted.target_path, "after that nothing is left at the target")
                csi.steps.withdraw(mounted)  # it may be the one volume there is


def _mounted_below(csi: CsiTarget, mounted: Mounted) -> str:
    """Takes the volume away from its target and makes the target a plain directory; where it was
    a mount the volume is mounted again, below that directory. Returns where, or nothing."""
    target = mounted.target_path
    inner = f"{target}/inner" if mounts.layers(target) else ""
    with contextlib.ExitStack() as stack:
        if inner:
            aside = csi.steps.staging_path()
            foreign.bind(csi, target, aside)
            stack.callback(mounts.uncover, aside)
        mounts.take_away(target)
        os.mkdir(target, 0o750)
        if inner:
            os.mkdir(inner)
            foreign.bind(csi, aside, inner)
            csi.scope.callback(lambda: mounts.take_away(inner))
    return inner


def _expect_kept(csi: CsiTarget, mounted: Mounted, written: bytes, when: str) -> None:
    """The volume, published anew at another target, still holds its data."""
    mounts.uncover(mounted.target_path)
    csi.steps.unmount(mounted)
    content.expect_content(
        at_another_target(csi, mounted), written, f"{when} the volume has its data"
    )
