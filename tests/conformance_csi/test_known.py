"""What our fake says of itself in place of a user."""

from __future__ import annotations

import pytest

from conformance.csi import known
from conformance.csi.settings import CsiSettings
from refimpl.csi.fake import FakeDriver


def test_what_the_user_left_open_is_filled_in() -> None:
    """Mutable parameters in two sets, and a second pool where there is one."""
    settings = {"secrets": '{"CreateVolume": {"user": "admin"}}'}
    with FakeDriver(storage="memory", settings=settings) as fake:
        filled = known.of_fake(fake, CsiSettings())
    assert filled.mutable_parameters
    assert set(filled.mutable_parameters) == set(filled.other_mutable_parameters)
    assert filled.mutable_parameters != filled.other_mutable_parameters
    assert filled.secrets_for("CreateVolume") == {"user": "admin"}
    assert filled.backing_dir == ""


def test_what_the_user_said_stays() -> None:
    """The fake is then tested as a real driver would be."""
    with FakeDriver(storage="memory") as fake:
        chosen = CsiSettings(mutable_parameters={"iops": "7"}, backing_dir="/b")
        settings = known.of_fake(fake, chosen)
    assert settings.mutable_parameters == {"iops": "7"}
    assert settings.backing_dir == "/b"


@pytest.mark.parametrize(
    ("profile", "mode", "volume_id"),
    [
        ("default", "SINGLE_NODE_WRITER", ""),
        ("read-only", "MULTI_NODE_READER_ONLY", ""),
        ("node-only", "SINGLE_NODE_WRITER", "static-0"),
    ],
)
def test_modes_and_volumes_are_those_of_the_profile(
    profile: str, mode: str, volume_id: str
) -> None:
    """A driver of read-only volumes makes no others; one without controller has some already."""
    with FakeDriver(storage="memory", profile=profile) as fake:
        settings = known.of_fake(fake, CsiSettings())
    assert (settings.access_mode, settings.volume_id) == (mode, volume_id)


def test_what_volumes_are_made_of_is_shown_where_it_is_on_disk() -> None:
    """So that cases look there as an administrator would."""
    with FakeDriver(storage="directory") as fake:
        settings = known.of_fake(fake, CsiSettings())
    assert settings.backing_dir
