"""Ways to use a volume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.csi.common import uses
from conformance.csi.requests import Mode
from refimpl.csi.api import csi_pb2 as pb

FINER = "controller:SINGLE_NODE_MULTI_WRITER"


def test_finer_modes_are_sent_only_to_drivers_that_know_them(stub: Callable[..., Any]) -> None:
    """CSI forbids them without SINGLE_NODE_MULTI_WRITER."""
    plain, finer = uses.all_modes(stub()), uses.all_modes(stub(FINER))
    assert set(finer) - set(plain) == {
        Mode.SINGLE_NODE_SINGLE_WRITER,
        Mode.SINGLE_NODE_MULTI_WRITER,
    }
    assert set(finer) == set(Mode.Mode.values()) - {Mode.UNKNOWN}
    assert set(uses.single_node_modes(stub())) < set(plain)


def test_the_other_type_is_the_one_that_is_not_usual(csi: Any) -> None:
    """Block for a driver that is tested with mounts, and the other way round."""
    assert uses.other_type(csi).WhichOneof("access_type") == "block"
    csi.settings.access_type = "block"
    assert uses.other_type(csi).WhichOneof("access_type") == "mount"


def test_a_use_is_described_in_few_words() -> None:
    """For the message of a failure."""
    use = pb.VolumeCapability(access_mode=Mode(mode=Mode.SINGLE_NODE_WRITER))
    assert uses.described(use) == "SINGLE_NODE_WRITER, no access type"
    use.mount.fs_type = "xfs"
    assert uses.described(use) == "SINGLE_NODE_WRITER, mount, xfs"
