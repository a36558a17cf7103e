"""What a CreateVolume gives that was made before."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.csi.common import repeats
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb


def test_the_same_volume_is_the_same_in_all_that_was_said(csi: Any) -> None:
    """Another id or another size is another volume."""
    request = csi.requests.volume()
    first = csi.steps.volume(request)
    repeats.expect_same(csi, request, first, "repeated")
    other = pb.Volume()
    other.CopyFrom(first)
    other.capacity_bytes += 1
    with pytest.raises(Broken, match="repeated"):
        repeats.expect_same(csi, request, other, "repeated")


def test_a_taken_name_is_refused_with_its_code(csi: Any) -> None:
    """ALREADY_EXISTS, nothing else."""
    request = csi.requests.volume(required=1 << 30)
    csi.steps.volume(request)
    larger = csi.requests.volume(request.name, required=2 << 30)
    repeats.expect_taken(csi, larger, "another size")
    with pytest.raises(Broken, match="the very same"):
        repeats.expect_taken(csi, request, "the very same")
