"""Settings from text."""

from __future__ import annotations

import attrs
import pytest

from refimpl.csi.state import options
from refimpl.csi.state.models import AccessMode
from refimpl.csi.state.settings import DriverSettings


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("granule", "4Mi", 4 << 20),
        ("maximum", "5G", 5 * 10**9),
        ("attach_limit", "0", 0),
        ("snapshot_delay", "1.5", 1.5),
        ("pool_per_zone", "yes", True),
        ("report_capacity", "false", False),
        ("driver_name", "other.example", "other.example"),
        ("zones", "a, b", ("a", "b")),
        ("fs_types", "ext4", frozenset({"ext4"})),
        ("access_types", "block", frozenset({"block"})),
        ("accepted_parameters", "kind,type", frozenset({"kind", "type"})),
        ("accepted_parameters", "any", None),
        ("modes", "SINGLE_NODE_WRITER", frozenset({AccessMode.SINGLE_NODE_WRITER})),
        ("context", "a=1,b=2", {"a": "1", "b": "2"}),
        ("pools", "fast=1Gi,slow=2Ti", {"fast": 1 << 30, "slow": 2 << 40}),
        ("secrets", '{"CreateVolume": {"k": "v"}}', {"CreateVolume": {"k": "v"}}),
        ("tokens", "index", "index"),
    ],
)
def test_text_is_read_after_the_type_of_the_setting(name: str, text: str, value: object) -> None:
    """The command line has nothing but strings."""
    assert getattr(DriverSettings().with_(**{name: text}), name) == value


def test_values_that_are_no_text_pass() -> None:
    """Python callers give what the setting is."""
    assert DriverSettings().with_(granule=512).granule == 512


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("granul", "1", "granule"),
        ("refusals", "x", "no setting 'refusals'"),
        ("granule", "many", "cannot be read as int"),
        ("granule", "1Xi", "cannot be read as int"),
        ("modes", "READ", "cannot be read"),
        ("secrets", "[]", "cannot be read"),
        ("pool_per_zone", "maybe", "cannot be read as bool"),
        ("tokens", "random", "opaque, index, generation"),
        ("revision", "1.11", "1.12, 1.13"),
    ],
)
def test_unreadable_settings_are_named(name: str, text: str, message: str) -> None:
    """The message has to say what is known or needed."""
    with pytest.raises(ValueError, match=message):
        DriverSettings().with_(**{name: text})


def test_every_setting_can_be_read_from_text() -> None:
    """A setting of a new type must not be out of reach of the command line."""
    plain = {"str", "Revision"}
    for field in attrs.fields(DriverSettings):
        kind = str(field.type)
        readable = kind in options.BY_TYPE or kind in plain or kind.startswith("Literal[")
        assert readable or not field.init, field.name
