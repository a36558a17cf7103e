"""What a CreateVolume gives that was made before."""

from __future__ import annotations

from conformance.csi.target import CsiTarget
from conformance.engine.verdict import expect, expect_status
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code


def expect_same(
    csi: CsiTarget, request: pb.CreateVolumeRequest, first: pb.Volume, rule: str
) -> None:
    """The request gives the very volume that is there, with all that was said of it."""
    again = expect_status(lambda: csi.controller.CreateVolume(request), {Code.OK}, rule)
    volume = again.volume if again is not None else None
    expect(volume == first, rule, wanted=first, got=volume)


def expect_taken(csi: CsiTarget, request: pb.CreateVolumeRequest, rule: str) -> None:
    """The name is that of a volume which is not what the request asks for."""
    expect_status(lambda: csi.controller.CreateVolume(request), {Code.ALREADY_EXISTS}, rule)
