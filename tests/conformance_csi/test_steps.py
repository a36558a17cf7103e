"""The steps that bring a volume to a state of its life cycle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb


def _calls(csi: Any) -> list[str]:
    return [entry.rpc for entry in csi.journal.entries]


def test_a_mount_is_all_calls_in_the_order_of_a_kubelet(csi: Any) -> None:
    """And `withdraw` the whole way back; paths go with the case."""
    assert csi.sizes.usual <= csi.sizes.maximum  # asked for now, so that nobody asks below
    mark = len(_calls(csi))
    place = csi.steps.mount()
    csi.steps.withdraw(place)
    assert _calls(csi)[mark:] == [
        "CreateVolume",
        "ControllerPublishVolume",
        "NodeStageVolume",
        "NodePublishVolume",
        "NodeUnpublishVolume",
        "NodeUnstageVolume",
        "ControllerUnpublishVolume",
    ]
    assert Path(place.staging_path).is_dir()
    csi.scope.close()
    assert not Path(place.staging_path).exists()


def test_steps_that_a_driver_does_not_advertise_are_left_out(opened: Any) -> None:
    """A volume is published nevertheless."""
    csi = opened("fake:no-staging")
    place = csi.steps.mount()
    assert place.staging_path == ""
    assert "NodeStageVolume" not in _calls(csi)
    assert opened("fake:no-attach").steps.attach(pb.Volume(volume_id="v")) == {}


def test_a_driver_that_makes_no_volumes_has_that_of_the_user(opened: Any) -> None:
    """Nothing is called for it."""
    csi = opened("fake:node-only")
    assert csi.steps.volume().volume_id == csi.settings.volume_id != ""
    assert "CreateVolume" not in _calls(csi)


def test_a_volume_without_an_id_is_a_finding(csi: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No later step could name it."""
    monkeypatch.setattr(csi.controller, "CreateVolume", lambda _: pb.CreateVolumeResponse())
    with pytest.raises(Broken, match="a volume that has an id"):
        csi.steps.volume()
