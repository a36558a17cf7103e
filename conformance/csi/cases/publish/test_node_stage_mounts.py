"""NodeStageVolume: what it mounts, looked at through the mount itself."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from conformance.csi.common import content, mounts, staged
from conformance.csi.needs import (
    CREATE_DELETE_VOLUME,
    DATA,
    FILE_SYSTEMS,
    MOUNT,
    MOUNTS,
    NODE,
    ROOT,
    STAGE_UNSTAGE_VOLUME,
    VOLUME_MOUNT_GROUP,
    VOLUMES,
)
from conformance.csi.steps import Mounted
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import Unjudged, expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

_SOURCE = "CSI 1.13 NodeStageVolume"
_NEEDS = (NODE, STAGE_UNSTAGE_VOLUME, MOUNT, VOLUMES, MOUNTS, ROOT)
_REFUSED = frozenset({Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION})
_NO_TYPE = "refimplfs"
_ROOM = 512 << 20  # xfs wants 300 MiB at least
_GROUP = 54321  # nobody's
_MOST_FLAGS = 4096  # bytes (CSI, MountVolume)


@case("CSI-STG-010", _SOURCE, needs=[*_NEEDS, FILE_SYSTEMS, CREATE_DELETE_VOLUME])
def test_the_file_system_is_the_one_asked_for(csi: CsiTarget) -> None:
    """A storage class says xfs for a reason: quotas, sizes, speed. Without a wish the driver
    chooses; what it does not know or have it refuses, and does not replace."""
    with together() as check:
        for wanted in ("ext4", "xfs", "", _NO_TYPE):
            mounted = _mounted_as(csi, wanted)
            rule = f"a volume with fs_type {wanted!r} is "
            if isinstance(mounted, Refused):
                may = wanted and mounted.code in _REFUSED
                rule += "mounted so, or refused" if wanted else "mounted"
                with check:
                    expect(may, rule, wanted="INVALID_ARGUMENT or FAILED_PRECONDITION", got=mounted)
            elif wanted == _NO_TYPE:
                with check:
                    expect(
                        False, f"{rule}refused", wanted="an error", got=f"a mount of type {mounted}"
                    )
            else:
                with check:
                    expect(
                        mounted == wanted or not wanted,
                        f"{rule}mounted so",
                        wanted=wanted,
                        got=mounted,
                    )


def _mounted_as(csi: CsiTarget, fs_type: str) -> str | Refused:
    capability = csi.requests.capability(block=False, fs_type=fs_type)
    size = csi.sizes.at_least(_ROOM)
    request = csi.requests.volume(capabilities=[capability], required=size)
    try:
        mounted = csi.steps.mount(csi.steps.volume(request), capability=capability)
    except Unjudged:
        raise
    except Refused as refusal:
        return refusal
    return mounts.fs_type(mounted.target_path)


@case("CSI-STG-011", _SOURCE, needs=[*_NEEDS, DATA])
def test_what_is_on_a_volume_survives_every_further_stage(csi: CsiTarget) -> None:
    """A driver that cannot read what is on a device, for once, and formats it has deleted the data
    of somebody. Staged again while in use, and again after it was gone from the node."""
    volume = csi.steps.volume(
        csi.requests.volume(capabilities=[csi.requests.capability(block=False)])
    )
    written, capability = content.fresh(), csi.requests.capability(block=False)
    mounted = csi.steps.mount(volume, capability=capability)
    content.write(mounted, written)
    csi.node.NodeStageVolume(_restage(csi, mounted))
    content.expect_content(mounted, written, "a repeated NodeStageVolume leaves data as they are")
    for number in (2, 3):
        csi.steps.withdraw(mounted)
        mounted = csi.steps.mount(volume, capability=capability)
        csi.node.NodeStageVolume(_restage(csi, mounted))
        rule = f"a volume that is staged the {number}. time holds what was written before"
        content.expect_content(mounted, written, rule)


def _restage(csi: CsiTarget, mounted: Mounted) -> pb.NodeStageVolumeRequest:
    return csi.requests.stage(
        mounted.volume,
        mounted.staging_path,
        capability=mounted.request.volume_capability,
        publish_context=mounted.publish_context,
    )


@case("CSI-STG-012", _SOURCE, needs=_NEEDS)
def test_mount_flags_hold_where_a_volume_is_staged(csi: CsiTarget) -> None:
    """Some flags belong to the file system and can be given here only. As many as the specification
    lets a caller send are taken or refused, not stumbled over."""
    capability = csi.requests.capability(block=False, mount_flags=["noatime"])
    mounted = csi.steps.mount(capability=capability)
    staging = mounted.staging_path
    seen = mounts.options(staging if mounts.layers(staging) else mounted.target_path)
    csi.steps.withdraw(mounted)
    rule = "a volume staged with mount_flags noatime is mounted so"
    with together() as check:
        with check:
            expect(
                "noatime" in seen, rule, wanted="noatime", got=", ".join(sorted(seen)) or "no mount"
            )
        many = ["noatime"] * (_MOST_FLAGS // len("noatime"))
        crowded = staged.ready(
            csi, capability=csi.requests.capability(block=False, mount_flags=many)
        )
        with check:
            expect_status(
                lambda: csi.node.NodeStageVolume(crowded),
                {Code.OK, Code.INVALID_ARGUMENT},
                f"{len(many)} mount_flags, {len(many) * len('noatime')} bytes in all, are taken or"
                " refused",
            )


@case("CSI-STG-016", "CSI 1.13 NodeUnstageVolume", needs=_NEEDS)
def test_an_unstage_unmounts_and_leaves_the_directory(csi: CsiTarget) -> None:
    """The directory is the caller's, who removes it. With a mount left in it that removal would
    delete what is on the volume."""
    request = staged.ready(csi, capability=csi.requests.capability(block=False))
    path = request.staging_target_path
    csi.node.NodeStageVolume(request)
    csi.node.NodeUnstageVolume(staged.back(request))
    seen = mounts.layers(path)
    with together() as check:
        with check:
            expect(
                not seen, "after NodeUnstageVolume nothing is mounted", wanted="no mount", got=seen
            )
        rule = "NodeUnstageVolume leaves the directory to the caller"
        with check:
            should(os.path.isdir(path), rule, wanted=f"a directory at {path}", got="nothing")


@case("CSI-STG-018", _SOURCE, needs=[*_NEEDS, VOLUME_MOUNT_GROUP, DATA])
def test_a_volume_belongs_to_the_group_of_the_pod(csi: CsiTarget) -> None:
    """With this capability kubelet does not change the owner itself: without the group a pod that
    is not root can read and write nothing. The group has to be there, as an option of the mount
    or as that of the files; new files are better writable for it, too."""
    capability = csi.requests.capability(block=False, mount_group=str(_GROUP))
    mounted = csi.steps.mount(capability=capability)
    options = mounts.options(mounted.target_path)
    path = Path(mounted.target_path, "refimpl-group")
    path.write_bytes(content.fresh())
    try:
        seen = path.stat()
    finally:
        path.unlink()
    given = any(option.endswith(f"gid={_GROUP}") for option in options)
    with together() as check:
        with check:
            expect(
                given or seen.st_gid == _GROUP,
                f"volume_mount_group {_GROUP} is an option of the mount, or the group of its files",
                wanted=f"gid {_GROUP}",
                got=f"a new file of group {seen.st_gid}",
            )
        rule = "a new file can be read and written by the group of the volume"
        mode = stat.S_IMODE(seen.st_mode)
        both = stat.S_IRGRP | stat.S_IWGRP
        with check:
            should(
                mode & both == both,
                rule,
                wanted="rw for the group",
                got=stat.filemode(seen.st_mode),
            )
