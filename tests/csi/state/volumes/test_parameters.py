"""mutable_parameters."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes.parameters import check_mutable
from refimpl.wire.status import Code

SETTINGS = DriverSettings(mutable={"iops": "[0-9]+", "free": ".*"})


@pytest.mark.parametrize("parameters", [{"iops": "100"}, {"free": ""}, {"iops": "0", "free": "x"}])
def test_known_keys_with_fitting_values_pass(parameters: dict[str, str]) -> None:
    """A pattern has to match the whole value."""
    check_mutable(SETTINGS, parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"colour": "red"}, "iops, free"),
        ({"iops": "1x"}, "[0-9]+"),
        ({"free": "x" * 5000}, "4096"),
    ],
)
def test_others_are_refused_with_what_is_known(
    parameters: dict[str, str], message: str, refused: Any
) -> None:
    """The caller learns what the driver takes."""
    with refused(Code.INVALID_ARGUMENT, message):
        check_mutable(SETTINGS, parameters)
