"""What lasts from case to case, and when it is made anew."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused


def _remains(csi: Any) -> int:
    return len(csi.fake.state.tables.volumes)


def test_what_lasts_outlives_a_case_and_not_the_run(csi: Any) -> None:
    """One volume serves all cases that only look, or repeat what made it."""
    volume = csi.lasting_volume
    csi.clean_up()
    assert csi.lasting_volume == volume
    assert csi.controller.CreateVolume(csi.lasting_request).volume == volume
    csi.clean_up()
    assert _remains(csi) == 1
    csi.clean_up_all()
    assert _remains(csi) == 0


def test_a_case_cannot_change_what_the_next_one_gets(csi: Any) -> None:
    """Volume, request and publication are copies."""
    csi.lasting_volume.volume_context["strange"] = "1"
    csi.lasting_request.secrets["strange"] = "1"
    csi.lasting_mount.request.readonly = True
    assert "strange" not in csi.lasting_volume.volume_context
    assert "strange" not in csi.lasting_request.secrets
    assert not csi.lasting_mount.request.readonly


def test_what_a_failed_case_has_used_is_made_anew(csi: Any) -> None:
    """It may no longer be as it was; what the case did not use stays."""
    volume, mount = csi.lasting_volume, csi.lasting_mount
    csi.clean_up()
    assert csi.lasting_volume == volume
    csi.forget_lasting(lent=True)
    csi.clean_up()
    assert csi.lasting_volume != volume
    assert csi.lasting_mount.volume == mount.volume


def test_what_cannot_be_undone_spoils_what_was_used(csi: Any, monkeypatch: Any) -> None:
    """The next case must not find a volume that is still published somewhere."""
    volume = csi.lasting_volume
    csi.attach(volume)

    def refused(_method: str, _request: pb.ControllerUnpublishVolumeRequest) -> None:
        raise Refused(Code.INTERNAL, "not now")

    with monkeypatch.context() as patch:
        patch.setattr(csi, "call_with_secrets", refused)
        with pytest.raises(AssertionError, match="can be removed again"):
            csi.clean_up()
    assert csi.lasting_volume != volume
