"""The device of fixtures/vectors/dra-cel.json."""

from __future__ import annotations

import pytest

from refimpl.dra.cel import Device

DRIVER = "drv.example.com"
ATTRIBUTES = {
    "model": {"string": "X"},
    "index": {"int": 3},
    "ver": {"version": "1.2.3"},
    "list": {"strings": ["a", "b"]},
    "flag": {"bool": True},
    f"{DRIVER}/q": {"int": 1},
}
CAPACITY = {"mem": {"value": "80Gi"}, "half": {"value": "1500m"}}


@pytest.fixture(scope="session")
def device() -> Device:
    """With an attribute of each kind."""
    return Device.of(DRIVER, {"attributes": ATTRIBUTES, "capacity": CAPACITY})
