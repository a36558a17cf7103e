"""CreateVolume: the size of a volume as a workload sees it."""

from __future__ import annotations

from functools import partial

from conformance.csi.common import content
from conformance.csi.needs import BLOCK, CREATE_DELETE_VOLUME, MOUNT, MOUNTS, ROOT
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import Need
from conformance.engine.verdict import expect, expect_status, should, together
from refimpl.wire.status import Code

GIB = 1 << 30
NEEDS: list[Need] = [CREATE_DELETE_VOLUME, MOUNTS, ROOT]


@case("CSI-CTRL-079", "CSI 1.13 CreateVolume", needs=[*NEEDS, BLOCK])
def test_a_block_device_has_the_size_of_its_volume(csi: CsiTarget) -> None:
    """Databases and virtual machines take the device as it is; a few bytes less break a copy.

    The text is new in 1.13, so a driver of 1.12 is only warned.
    """
    rule = "a block device lies in the range its volume was asked for with"
    judge = expect if csi.revision.since("1.13") else should
    size, block = csi.requests.size, csi.requests.capability(block=True)
    with together() as check:
        for required, limit in ((size, 0), (size + 5, 0), (0, size), (size, size)):
            request = csi.requests.volume(required=required, limit=limit, capabilities=[block])
            reply = expect_status(
                partial(csi.controller.CreateVolume, request),
                {Code.OK, Code.OUT_OF_RANGE},
                f"a block volume of {required}..{limit or ''} bytes is made or out of range",
            )
            if reply is None:
                continue
            capacity = reply.volume.capacity_bytes
            mounted = csi.steps.mount(reply.volume, capability=block)
            seen = content.size(mounted)
            csi.steps.withdraw(mounted)
            with check:
                judge(
                    seen >= required and (not limit or seen <= limit),
                    rule,
                    wanted=f"{required}..{limit or ''} bytes",
                    got=f"{seen} bytes",
                )
            with check:
                judge(
                    capacity in (0, seen),
                    "a block device is as large as CreateVolume said",
                    wanted=f"{capacity} bytes",
                    got=f"{seen} bytes",
                )


@case("CSI-CTRL-080", "CSI 1.13 CreateVolume", needs=[*NEEDS, MOUNT])
def test_a_file_system_takes_little_of_its_volume(csi: CsiTarget) -> None:
    """Sizes are those of the raw volume, but users plan with them: a tenth is a lot to lose."""
    mount = csi.requests.capability(block=False)
    size = csi.sizes.at_least(GIB)  # of less than that a journal alone is a tenth
    volume = csi.steps.volume(csi.requests.volume(required=size, capabilities=[mount]))
    with together() as check:
        with check:
            expect(
                volume.capacity_bytes == 0 or volume.capacity_bytes >= size,
                "the capacity of a mount volume is its raw size",
                wanted=f"at least {size} bytes",
                got=volume.capacity_bytes,
            )
        seen = content.size(csi.steps.mount(volume, capability=mount))
        with check:
            expect(
                seen >= size - size // 10,
                "a file system keeps at most a tenth of its volume for itself",
                wanted=f"at least {size - size // 10} bytes",
                got=f"{seen} bytes",
            )
