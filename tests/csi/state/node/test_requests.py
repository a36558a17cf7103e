"""refimpl.csi.state.node.requests: rules of the fields alone."""

from __future__ import annotations

import pytest

from refimpl.csi.state.models import AccessMode, CapacityRange, VolumeCapability
from refimpl.csi.state.node import ExpandRequest, PublishRequest, StageRequest
from refimpl.csi.state.node.requests import checked_expand, checked_publish, checked_stage, plain
from refimpl.csi.state.settings import DriverSettings
from refimpl.wire.status import Code, Refused

MOUNT = VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER)
LONG = "/" + "/".join(["d" * 60] * 60)


@pytest.mark.parametrize(
    ("spelling", "same"),
    [
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("//a//b", "/a/b"),
        ("/a/./b", "/a/b"),
        ("/a/.", "/a"),
        ("/", "/"),
        ("", ""),
        ("/a.b/.c", "/a.b/.c"),
    ],
)
def test_one_place_has_one_spelling(spelling: str, same: str) -> None:
    """A caller that adds a slash means the same place."""
    assert plain(spelling) == same


@pytest.mark.parametrize(
    "path", ["/" + "p" * 127, "/" + "p" * 199, "/" + "p" * 254, LONG, "/with space/\u00fc\u4e2d"]
)
def test_long_and_strange_paths_are_taken(path: str) -> None:
    """At least 128 bytes must work, kubelet needs about 250, the system takes 4095."""
    settings = DriverSettings()
    assert (
        checked_stage(settings, StageRequest(volume_id="v", path=path, capability=MOUNT))[0] == path
    )
    request = PublishRequest(volume_id="v", target=path, staging=path, capability=MOUNT)
    assert checked_publish(settings, request) == (path, path, MOUNT)


STAGE = {"volume_id": "v", "path": "/s", "capability": MOUNT}
PUBLISH = {"volume_id": "v", "target": "/t", "capability": MOUNT}
TOO_MUCH = {"k": "v" * 4096}


@pytest.mark.parametrize(
    "change",
    [
        {"volume_id": ""},
        {"volume_id": "v" * 129},
        {"path": ""},
        {"path": "relative"},
        {"path": "/a/../b"},
        {"path": "/a\0b"},
        {"capability": None},
        {"capability": VolumeCapability("mount", AccessMode.UNKNOWN)},
        {"capability": VolumeCapability("", AccessMode.SINGLE_NODE_WRITER)},
        {"capability": VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER, "nonsense")},
        {"capability": VolumeCapability("mount", AccessMode(1), "", ("f" * 4097,))},
        {"publish_context": TOO_MUCH},
        {"volume_context": TOO_MUCH},
        {"secrets": TOO_MUCH},
        {"secrets": {"not a key": "x"}},
    ],
    ids=str,
)
def test_a_bad_field_of_stage_is_an_invalid_argument(change: dict[str, object]) -> None:
    """Missing, too long or malformed: INVALID_ARGUMENT."""
    with pytest.raises(Refused) as caught:
        checked_stage(DriverSettings(), StageRequest(**{**STAGE, **change}))  # type: ignore[arg-type]
    assert caught.value.code == Code.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "change",
    [
        {"volume_id": ""},
        {"target": ""},
        {"target": "relative"},
        {"target": "/a/.."},
        {"staging": "relative"},
        {"capability": None},
        {"capability": VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER, "nonsense")},
        {"publish_context": TOO_MUCH},
        {"volume_context": TOO_MUCH},
    ],
    ids=str,
)
def test_a_bad_field_of_publish_is_an_invalid_argument(change: dict[str, object]) -> None:
    """Missing, too long or malformed: INVALID_ARGUMENT."""
    with pytest.raises(Refused) as caught:
        checked_publish(DriverSettings(), PublishRequest(**{**PUBLISH, **change}))  # type: ignore[arg-type]
    assert caught.value.code == Code.INVALID_ARGUMENT


def test_no_message_quotes_secrets_contexts_or_flags() -> None:
    """Messages end up in logs; what a user put there must not."""
    canary = "canary" * 1000
    changes: list[dict[str, object]] = [
        {"secrets": {"k": canary}},
        {"volume_context": {"k": canary}},
        {"publish_context": {"k": canary}},
        {"capability": VolumeCapability("mount", AccessMode(1), "", (canary,))},
    ]
    for change in changes:
        with pytest.raises(Refused) as caught:
            checked_stage(DriverSettings(), StageRequest(**{**STAGE, **change}))  # type: ignore[arg-type]
        assert "canary" not in caught.value.message


def test_a_group_needs_the_capability() -> None:
    """volume_mount_group may only be sent with VOLUME_MOUNT_GROUP."""
    capability = VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER, mount_group="1000")
    request = StageRequest(volume_id="v", path="/s", capability=capability)
    assert checked_stage(DriverSettings(), request)[1] == capability
    with pytest.raises(Refused, match="VOLUME_MOUNT_GROUP"):
        checked_stage(DriverSettings().without("VOLUME_MOUNT_GROUP"), request)


@pytest.mark.parametrize(
    "expansion",
    [
        ExpandRequest(volume_id="", path="/t"),
        ExpandRequest(volume_id="v", path=""),
        ExpandRequest(volume_id="v", path="/t", wanted=CapacityRange()),
        ExpandRequest(volume_id="v", path="/t", wanted=CapacityRange(-1)),
        ExpandRequest(volume_id="v", path="/t", wanted=CapacityRange(2, 1)),
        ExpandRequest(
            volume_id="v", path="/t", capability=VolumeCapability("mount", AccessMode(0))
        ),
    ],
    ids=str,
)
def test_a_bad_field_of_an_expansion_is_an_invalid_argument(expansion: ExpandRequest) -> None:
    """Missing, too long or malformed: INVALID_ARGUMENT."""
    with pytest.raises(Refused) as caught:
        checked_expand(DriverSettings(), expansion)
    assert caught.value.code == Code.INVALID_ARGUMENT


def test_a_relative_path_is_only_looked_up_later() -> None:
    """It names no place, which is NOT_FOUND and not INVALID_ARGUMENT."""
    assert (
        checked_expand(DriverSettings(), ExpandRequest(volume_id="v", path="relative"))
        == "relative"
    )
