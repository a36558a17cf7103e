"""What a volume that exists can be used for."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.state.models import AccessMode, VolumeCapability
from refimpl.csi.state.volumes.requests import unusable


@pytest.mark.parametrize(
    ("capability", "message"),
    [
        (VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER), ""),
        (VolumeCapability("mount", AccessMode.SINGLE_NODE_READER_ONLY, "ext4"), ""),
        (VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER, "xfs"), "ext4"),
        (VolumeCapability("block", AccessMode.SINGLE_NODE_WRITER), "mount volume"),
        (VolumeCapability("mount", AccessMode.MULTI_NODE_READER_ONLY), "SINGLE_NODE_WRITER"),
    ],
)
def test_a_reason_is_given_for_what_a_volume_is_not(
    desk: Any, capability: VolumeCapability, message: str
) -> None:
    """Publishing, validating and repeating CreateVolume all follow this."""
    why = unusable(desk.volume(), capability)
    assert message in why
    assert bool(why) == bool(message)
