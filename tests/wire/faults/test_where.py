"""A rule can ask what is in the request."""

from typing import Any

import pytest
from google.protobuf import type_pb2, wrappers_pb2

from refimpl.csi.api import csi_pb2 as csi
from refimpl.wire.faults.paths import PathError
from refimpl.wire.faults.where import Where

WRITER = csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER


def volume_request() -> csi.CreateVolumeRequest:
    """A request with a bit of everything."""
    return csi.CreateVolumeRequest(
        name="pvc-1",
        parameters={"csi.storage.k8s.io/fstype": "ext4"},
        capacity_range={"required_bytes": 1024},
        volume_capabilities=[{"block": {}, "access_mode": {"mode": WRITER}}],
    )


@pytest.mark.parametrize(
    ("path", "condition", "holds"),
    [
        ("name", "pvc-1", True),
        ("name", "pvc-*", True),
        ("name", "vol-*", False),
        ("name", ["x", "pvc-?"], True),
        ("name", None, False),
        ("parameters.csi.storage.k8s.io/fstype", "ext4", True),
        ("parameters.other", None, True),
        ("parameters.other", "*", False),
        ("parameters", "*", True),
        ("secrets", None, True),
        ("secrets", "*", False),
        ("capacity_range.required_bytes", 1024, True),
        ("capacity_range.required_bytes", 1, False),
        ("capacity_range.required_bytes", True, False),
        ("capacity_range.limit_bytes", None, True),
        ("capacity_range", "*", True),
        ("volume_content_source", None, True),
        ("volume_content_source", "*", False),
        ("volume_content_source.volume.volume_id", "v", False),
        ("volume_capabilities.*.access_mode.mode", "SINGLE_NODE_WRITER", True),
        ("volume_capabilities.0.access_mode.mode", "SINGLE_*", True),
        ("volume_capabilities.0.access_mode.mode", 1, True),
        ("volume_capabilities.0.access_mode.mode", "MULTI_*", False),
        ("volume_capabilities.1.block", None, True),
        ("volume_capabilities.0.block", "*", True),
        ("volume_capabilities.0.mount", "*", False),
        ("no_such_field", "x", False),
    ],
)
def test_a_condition_holds_or_not(path: str, condition: Any, holds: bool) -> None:
    """Values, globs, alternatives, presence; an unknown field is no match but no error."""
    assert Where({path: condition})(volume_request()) is holds


def test_all_conditions_must_hold() -> None:
    """Conditions narrow each other down."""
    assert Where({"name": "pvc-*", "capacity_range.required_bytes": 1024})(volume_request())
    assert not Where({"name": "pvc-*", "capacity_range.required_bytes": 7})(volume_request())


def test_zero_of_an_optional_field_is_not_unset() -> None:
    """A wrapper with its zero was sent on purpose."""
    reply = csi.ProbeResponse(ready=wrappers_pb2.BoolValue())
    assert Where({"ready": False})(reply)
    assert not Where({"ready": None})(reply)
    assert Where({"ready": None})(csi.ProbeResponse())


def test_bytes_are_compared_as_base64() -> None:
    """As protobuf's JSON has them."""
    value = wrappers_pb2.BytesValue(value=b"\xff")
    assert Where({"value": "/w=="})(value)
    assert not Where({"value": "AA=="})(value)


def test_a_number_without_a_name_matches_as_a_number() -> None:
    """Enums are open: a request may hold a value from the future."""
    assert Where({"syntax": 77})(type_pb2.Type(syntax=77))  # type: ignore[arg-type]
    assert Where({"syntax": "77"})(type_pb2.Type(syntax=77))  # type: ignore[arg-type]


def test_bare_bytes_never_match() -> None:
    """What a proxy cannot decode has no fields to look at."""
    assert not Where({"name": "*"})(b"")


@pytest.mark.parametrize(
    ("path", "condition", "message"),
    [
        ("nam", "x", "did you mean name?"),
        ("name", 5, "does not fit name"),
        ("capacity_range.required_bytes", "1024", "leave out the quotes"),
        ("capacity_range", "x", "ask for '*' (there) or null (unset)"),
        ("volume_capabilities.*.access_mode.mode", "WRITER", "one of UNKNOWN, "),
        ("parameters", {"a": 1}, "ask for '*'"),
    ],
)
def test_a_condition_that_can_never_hold_is_found_beforehand(
    path: str, condition: Any, message: str
) -> None:
    """Otherwise the rule would simply never fire, and one would wonder why."""
    with pytest.raises(PathError) as caught:
        Where({path: condition}).check(csi.CreateVolumeRequest.DESCRIPTOR)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("path", "condition"),
    [
        ("name", ["a", "b*", None]),
        ("volume_capabilities.*.access_mode.mode", "*_WRITER"),
        ("capacity_range", None),
        ("secrets", "*"),
    ],
)
def test_a_condition_that_may_hold_passes(path: str, condition: Any) -> None:
    """The check refuses only what cannot be."""
    where = Where({path: condition})
    where.check(csi.CreateVolumeRequest.DESCRIPTOR)
    assert where.to_dict() == {path: condition}
