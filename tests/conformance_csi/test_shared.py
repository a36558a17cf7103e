"""What is shared by cases, and when it is made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.engine.scope import CaseScope
from refimpl.wire.status import Code, Refused


def _volumes(csi: Any) -> int:
    return len(csi.fake.state.tables.volumes)


def _next_case(csi: Any, *, failed: bool = False) -> None:
    """Ends the case that runs, and begins another."""
    csi.scope.failed = failed
    csi.scope.close()
    csi.begin(CaseScope())


def test_what_is_shared_outlives_a_case_and_not_the_run(csi: Any) -> None:
    """One volume serves all cases that only look, or repeat what made it."""
    volume = csi.shared.volume()
    _next_case(csi)
    assert csi.shared.volume() == volume
    assert csi.controller.CreateVolume(csi.shared.request()).volume == volume
    _next_case(csi)
    assert _volumes(csi) == 1
    csi.shared.close()
    assert _volumes(csi) == 0


def test_what_made_a_thing_that_is_lent_belongs_to_the_calls_of_a_case(csi: Any) -> None:
    """A script that played only what the case itself has called would begin in the middle."""

    def changes(mark: int) -> list[str]:
        return [call.rpc for call in csi.calls(mark) if "Volume" in call.rpc]

    csi.shared.volume()
    _next_case(csi)
    mark = csi.mark()
    assert changes(mark) == []
    volume = csi.shared.volume()
    csi.controller.DeleteVolume(csi.requests.delete(volume.volume_id))
    assert changes(mark)[-2:] == ["CreateVolume", "DeleteVolume"]
    _next_case(csi)
    assert changes(csi.mark()) == []
    csi.shared.forget()
    mark = csi.mark()
    csi.shared.volume()
    assert changes(mark) == ["CreateVolume"]


def test_a_case_cannot_change_what_the_next_one_gets(csi: Any) -> None:
    """Volume, request and publication are copies."""
    csi.shared.volume().volume_context["strange"] = "1"
    csi.shared.request().secrets["strange"] = "1"
    csi.shared.mount().request.readonly = True
    assert "strange" not in csi.shared.volume().volume_context
    assert "strange" not in csi.shared.request().secrets
    assert not csi.shared.mount().request.readonly


def test_what_a_failed_case_has_used_is_made_anew(csi: Any) -> None:
    """It may no longer be as it was; what the case did not use stays."""
    volume, mount = csi.shared.volume(), csi.shared.mount()
    _next_case(csi)
    assert csi.shared.volume() == volume
    _next_case(csi, failed=True)
    assert csi.shared.volume() != volume
    assert csi.shared.mount().volume == mount.volume
    assert _volumes(csi) == 2


def test_what_cannot_be_undone_spoils_what_was_used(csi: Any, monkeypatch: Any) -> None:
    """The next case must not find a volume that is still published somewhere."""
    volume = csi.shared.volume()
    csi.steps.attach(volume)

    def refused(*_: object) -> None:
        raise Refused(Code.INTERNAL, "not now")

    with monkeypatch.context() as patch:
        patch.setattr(csi.connections, "call", refused)
        with pytest.raises(AssertionError, match="ControllerPublishVolume made can be removed"):
            csi.scope.close()
    assert csi.shared.volume() != volume


def test_what_a_driver_has_forgotten_is_made_anew(csi: Any) -> None:
    """And undone at the end, when whoever was started in its place may know of it."""
    mount = csi.shared.mount()
    csi.shared.forget()
    assert csi.shared.mount().volume != mount.volume
    _next_case(csi)
    csi.shared.close()
    assert _volumes(csi) == 0
    assert not Path(mount.target_path).exists()
    assert not Path(mount.staging_path).exists()


def test_a_driver_that_makes_no_volumes_has_one_for_all_cases(opened: Any) -> None:
    """It is published for one case only, and the next one may publish it elsewhere."""
    csi = opened("fake:node-only")
    first = csi.shared.mount()
    _next_case(csi)
    second = csi.shared.mount()
    assert first.volume == second.volume
    assert first.target_path != second.target_path
