"""refimpl.dra.shape: fields and types."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from refimpl.dra.shape import shaped


def test_quantities_become_texts_and_unknown_fields_go() -> None:
    """A number is a quantity, too."""
    device = {
        "name": "a",
        "foo": 1,
        "capacity": {"m": {"value": 80}, "n": {"value": Decimal("1.5")}},
    }
    shown, problems = shaped({"kind": "ResourceSlice", "spec": {"devices": [device]}})
    assert shown["spec"]["devices"][0] == {
        "name": "a",
        "capacity": {"m": {"value": "80"}, "n": {"value": "1.5"}},
    }
    (problem,) = problems
    assert problem.steps == ("spec", "devices", 0, "foo")
    assert problem.unknown
    assert problem.message == "Device has no field 'foo'"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"devices": {}}, "{} is no list"),
        ({"devices": [1]}, "1 is no object"),
        ({"pool": {"generation": "1"}}, "'1' is no int"),
        ({"pool": {"generation": True}}, "True is no int"),
        ({"pool": {"generation": 1 << 63}}, "9223372036854775808 is no int"),
        ({"allNodes": "yes"}, "'yes' is no bool"),
        ({"driver": 1}, "1 is no text"),
        ({"sharedCounters": [{"counters": {"m": {"value": "1 k"}}}]}, "'1 k' is no quantity"),
        ({"devices": [{"taints": [{"timeAdded": "today"}]}]}, "'today' is no time"),
        ({"devices": [{"attributes": []}]}, "[] is no object"),
    ],
)
def test_a_wrong_type_is_told(spec: dict[str, Any], message: str) -> None:
    """With what was there."""
    _, (problem,) = shaped({"kind": "ResourceSlice", "spec": spec})
    assert problem.message.startswith(message)
    assert not problem.unknown


def test_null_is_as_if_it_were_not_there() -> None:
    """As in JSON for an API server."""
    assert shaped({"kind": "DeviceClass", "spec": None}) == ({"kind": "DeviceClass"}, [])
