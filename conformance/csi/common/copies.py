"""What a restore and a clone have in common: a copy of a volume, of the same size or not."""

from __future__ import annotations

from collections.abc import Callable

from conformance.csi.common import content
from conformance.csi.target import CsiTarget
from conformance.engine.verdict import expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

Source = Callable[[pb.Volume], pb.VolumeContentSource]
"""Makes of a volume what it can be copied from: itself, or a snapshot of it."""

# A file system of the size that the volume now has, less what the file system itself takes of it.
_LEAST = 0.75


def expect_copied(copy: pb.Volume, source: pb.VolumeContentSource, least: int) -> None:
    """The copy has room for all of its source (`least` in bytes), and names no other. CSI lets it
    name none, which the provisioner of Kubernetes takes for a failure."""
    with together() as check:
        with check:
            expect(
                copy.content_source in (source, pb.VolumeContentSource()),
                "a volume made from a source names no other source",
                wanted=source,
                got=copy.content_source,
            )
        with check:
            expect(
                copy.capacity_bytes == 0 or copy.capacity_bytes >= least,
                "a volume made from a source is not smaller than it",
                wanted=f"capacity_bytes >= {least}",
                got=copy.capacity_bytes,
            )
        with check:
            should(
                copy.HasField("content_source"),
                "a volume made from a source names that source",
                wanted=source,
                got="no content_source",
            )


def expect_not_smaller(csi: CsiTarget, size: int, source: pb.VolumeContentSource) -> None:
    """No copy is made that could not hold its source of `size` bytes."""
    request = csi.requests.volume(limit=size // 2, source=source)
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OUT_OF_RANGE},
        f"a limit of {size // 2} bytes for a copy of {size} bytes is refused",
    )


def expect_grown(csi: CsiTarget, source: Source, *, block: bool) -> None:
    """A copy larger than its source is refused, or has both the content and the size."""
    what = "block device" if block else "file system"
    capability = csi.requests.capability(block=block)
    first = csi.requests.volume(capabilities=[capability])
    original = csi.steps.volume(first)
    written = content.fresh()
    mounted = csi.steps.mount(original, capability=capability)
    content.write(mounted, written)
    csi.steps.withdraw(mounted)
    size = csi.sizes.at_least(2 * original.capacity_bytes or csi.sizes.larger)
    request = csi.requests.volume(required=size, capabilities=[capability], source=source(original))
    reply = expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OK, Code.OUT_OF_RANGE},
        f"a {what} larger than its source is made or refused as out of range",
    )
    if reply is None:
        return
    with together() as check:
        with check:
            expect_copied(reply.volume, request.volume_content_source, size)
        copy = csi.steps.mount(reply.volume, capability=capability)
        with check:
            content.expect_content(
                copy, written, f"a larger copy of a {what} has the content of its source"
            )
        least = size if block else int(size * _LEAST)
        seen = content.size(copy)
        with check:
            expect(
                seen >= least,
                f"a larger copy of a {what} has the size asked for when it is published",
                wanted=f"at least {least} bytes of {size}",
                got=seen,
            )


def access_types(csi: CsiTarget) -> list[bool]:
    """The access types that volumes can have: False for mount, True for block."""
    return [block for block in (False, True) if csi.preconditions.makes(block=block)]
