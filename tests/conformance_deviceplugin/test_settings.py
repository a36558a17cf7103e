"""What a user says of a device target."""

from __future__ import annotations

import pytest

from conformance.deviceplugin.settings import settings
from conformance.engine.options import BadOption


def test_the_command_line_stands_above_the_file() -> None:
    """Options of other interfaces are passed over."""
    table = {"resource": "example.com/gpu", "hooks": {"break_device": ["break", "{id}"]}}
    found = settings(table, {"dp_resource": "example.com/nic", "cni_args": "x"})
    assert found.resource == "example.com/nic"
    assert found.hooks == {"break_device": ["break", "{id}"]}


@pytest.mark.parametrize("table", [{"hooks": {"explode": []}}, {"illusion": "often"}, {"x": 1}])
def test_what_is_not_known_is_refused(table: dict[str, object]) -> None:
    """With the name of what it is in."""
    with pytest.raises(BadOption, match="deviceplugin settings: "):
        settings(table, {})
