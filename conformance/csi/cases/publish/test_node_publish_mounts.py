"""NodePublishVolume: what a mount lets a workload do, looked at through the mount itself."""

from __future__ import annotations

import errno

from conformance.csi.common import content, mounts
from conformance.csi.common.published import at_another_target, block_volume, publish
from conformance.csi.common.refusals import code_of
from conformance.csi.needs import (
    BLOCK,
    DATA,
    MOUNT,
    MOUNTS,
    NODE,
    ROOT,
    SAME_HOST,
    SINGLE_NODE_READER,
    VOLUMES,
)
from conformance.csi.requests import Mode
from conformance.csi.steps import Mounted
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, should, together
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 NodePublishVolume"
_FLAGS = ("noatime", "noexec", "nosuid")
_LABEL = 'context="system_u:object_r:container_file_t:s0:c1,c2"'
_CLEAN = {Code.OK, Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION}


@case("CSI-NPUB-014", _SOURCE, needs=[NODE, VOLUMES, SAME_HOST, SINGLE_NODE_READER])
def test_a_volume_for_readers_is_published_for_readers_only(csi: CsiTarget) -> None:
    """Kubernetes sends no readonly flag for such a claim: the mode alone has to keep writers out,
    or the call is refused as contradictory. What the mount allows is tried out as root only."""
    visible = csi.has(MOUNTS, ROOT)
    mounted = csi.steps.ready(capability=csi.requests.capability(Mode.SINGLE_NODE_READER_ONLY))
    reply = expect_status(
        lambda: csi.node.NodePublishVolume(mounted.request),
        _CLEAN,
        "NodePublishVolume for SINGLE_NODE_READER_ONLY with readonly = False is done or refused",
    )
    if reply is not None and visible:
        _expect_no_writing(mounted, "a volume for SINGLE_NODE_READER_ONLY cannot be written to")


@case("CSI-NPUB-015", _SOURCE, needs=[NODE, MOUNT, VOLUMES, DATA, MOUNTS, ROOT])
def test_a_readonly_volume_can_be_read_and_not_written(csi: CsiTarget) -> None:
    """A pod that was given data to look at must not change it; the pod beside it that writes goes
    on writing. Where a volume has one target at a time, the writer comes first."""
    shared = csi.preconditions.sharing_mode(block=False)
    capability = csi.requests.capability(shared or None, block=False)
    writer = csi.steps.mount(capability=capability)
    written = content.fresh()
    content.write(writer, written)
    if not shared:
        csi.steps.unmount(writer)
    reader = at_another_target(csi, writer, readonly=True)
    with together() as check:
        with check:
            content.expect_content(reader, written, "a volume published with readonly can be read")
        with check:
            _expect_no_writing(reader, "a volume published with readonly cannot be written to")
        if shared:
            error = content.write_error(writer, content.fresh())
            rule = "a second, readonly target leaves the first one writable"
            with check:
                expect(error is None, rule, wanted="no error", got=error)


@case("CSI-NPUB-016", _SOURCE, needs=[NODE, BLOCK, VOLUMES, DATA, MOUNTS, ROOT])
def test_a_readonly_block_volume_cannot_be_written(csi: CsiTarget) -> None:
    """A read-only bind mount of a device does not stop anybody from writing to the device: the
    flag needs more than it does for files."""
    mounted = publish(csi, block_volume(csi), readonly=True)
    seen = content.size(mounted)
    with together() as check:
        with check:
            expect(
                seen > 0,
                "a readonly block volume can be opened",
                wanted="its size",
                got=seen,
            )
        rule = "a block volume published with readonly cannot be written to"
        with check:
            _expect_no_writing(mounted, rule)


@case("CSI-NPUB-023", _SOURCE, needs=[NODE, MOUNT, VOLUMES, MOUNTS, ROOT])
def test_mount_flags_hold_at_the_target(csi: CsiTarget) -> None:
    """Whoever writes noexec into a storage class relies on it for safety."""
    capability = csi.requests.capability(block=False, mount_flags=_FLAGS)
    mounted = csi.steps.mount(capability=capability)
    seen = mounts.options(mounted.target_path)
    expect(
        seen.issuperset(_FLAGS),
        f"a volume published with mount_flags {', '.join(_FLAGS)} is mounted so",
        wanted=", ".join(_FLAGS),
        got=", ".join(sorted(seen)) or "no mount",
    )


@case(
    "CSI-NPUB-028",
    "Kubernetes 1.37 kubelet",
    needs=[NODE, MOUNT, VOLUMES, MOUNTS, ROOT],
)
def test_a_selinux_label_is_taken_or_refused_cleanly(csi: CsiTarget) -> None:
    """Kubelet adds the pod's label to mount_flags, in quotes, with commas inside them. A driver
    that splits it there fails in a way that nobody traces back to the label."""
    capability = csi.requests.capability(block=False, mount_flags=[_LABEL])
    code = code_of(lambda: csi.steps.mount(capability=capability))
    should(
        code in _CLEAN,
        f"a volume is staged and published with {_LABEL} in mount_flags, or that is refused",
        wanted=" or ".join(code.name for code in sorted(_CLEAN)),
        got=code.name,
    )


def _expect_no_writing(mounted: Mounted, rule: str) -> None:
    error = content.write_error(mounted, content.fresh())
    expect(error is not None, rule, wanted="an error, best EROFS", got="no error")
    if error and not mounted.request.volume_capability.HasField("block"):
        name = errno.errorcode.get(error.errno or 0, str(error))
        should(error.errno == errno.EROFS, rule, wanted="EROFS", got=name)
