"""Well-formed requests to start from."""

from __future__ import annotations

import pytest

from conformance.csi.capabilities import Capabilities
from conformance.csi.requests import Mode, Requests, from_snapshot, from_volume
from conformance.csi.settings import CsiSettings
from refimpl.csi.api import csi_pb2 as pb

TOPOLOGY = "plugin:VOLUME_ACCESSIBILITY_CONSTRAINTS"
SECRETS = {
    "CreateVolumeSecret": {"a": "create"},
    "NodePublishVolumeSecret": {"a": "publish"},
}


def requests(*capabilities: str, place: dict[str, str] | None = None, **chosen: object) -> Requests:
    """A builder for a driver that was never asked anything."""
    advertised = Capabilities(names=frozenset(capabilities), node_id="n", topology=place)
    return Requests(CsiSettings(**chosen), advertised, "run1", lambda: 7)  # type: ignore[arg-type]


def test_names_are_fresh_and_carry_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers of two runs never make the same; drivers take 63 characters of any name."""
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw3")
    names = {requests().fresh_name() for _ in range(20)}
    assert len(names) == 20
    assert all(name.startswith("refimpl-run1-gw3-v") and len(name) <= 63 for name in names)


@pytest.mark.parametrize(
    ("chosen", "block", "kind"),
    [("mount", None, "mount"), ("block", None, "block"), ("block", False, "mount")],
)
def test_a_capability_is_of_the_kind_the_user_chose(
    chosen: str, block: bool | None, kind: str
) -> None:
    """Unless the case wants another; one of the two is always set."""
    capability = requests(access_type=chosen).capability(block=block)
    assert capability.WhichOneof("access_type") == kind
    assert capability.access_mode.mode == Mode.SINGLE_NODE_WRITER
    capability = requests(access_mode="MULTI_NODE_READER_ONLY").capability()
    assert capability.access_mode.mode == Mode.MULTI_NODE_READER_ONLY


@pytest.mark.parametrize(
    ("required", "limit", "sizes"),
    [(None, 0, (7, 0)), (5, 0, (5, 0)), (None, 9, (0, 9)), (5, 9, (5, 9)), (0, 0, None)],
)
def test_a_volume_has_the_usual_size_unless_told(
    required: int | None, limit: int, sizes: tuple[int, int] | None
) -> None:
    """A limit alone must not be below the usual size; nothing at all is no range."""
    request = requests().volume(required=required, limit=limit)
    if sizes is None:
        assert not request.HasField("capacity_range")
    else:
        assert (request.capacity_range.required_bytes, request.capacity_range.limit_bytes) == sizes


def test_each_request_has_the_secrets_of_its_own_kind() -> None:
    """And none of another."""
    build = requests(secrets=SECRETS)
    assert build.volume().secrets == {"a": "create"}
    assert build.delete("v").secrets == {}
    assert build.node_publish(pb.Volume(), "/t").secrets == {"a": "publish"}


def test_places_are_asked_for_only_where_the_driver_knows_them() -> None:
    """And only where the node tells one."""
    assert not requests().volume().HasField("accessibility_requirements")
    assert not requests(TOPOLOGY).volume().HasField("accessibility_requirements")
    build = requests(TOPOLOGY, place={"zone": "a"})
    places = build.volume().accessibility_requirements
    assert [dict(each.segments) for each in (*places.requisite, *places.preferred)] == [
        {"zone": "a"}
    ] * 2
    assert build.capacity().accessible_topology.segments == {"zone": "a"}


def test_what_a_volume_told_is_sent_along() -> None:
    """Its context, as CSI wants it; the node is the first one unless told."""
    build, volume = requests(), pb.Volume(volume_id="v", volume_context={"k": "x"})
    for sent in (
        build.publish(volume),
        build.validate(volume),
        build.stage(volume, "/s", publish_context={"p": "1"}),
        build.node_publish(volume, "/t", publish_context={"p": "1"}, readonly=True),
    ):
        assert (sent.volume_id, dict(sent.volume_context)) == ("v", {"k": "x"})
    assert build.publish(volume).node_id == "n"
    assert build.unpublish("v").node_id == "n"
    assert build.unpublish("v", "").node_id == ""


def test_unknown_ids_are_of_the_form_that_the_user_gave() -> None:
    """Some drivers refuse ids of another form before they look."""
    assert requests(unknown_volume_id="0000").unknown_volume_id() == "0000"
    assert requests(unknown_snapshot_id="0001").unknown_snapshot_id() == "0001"
    build = requests()
    assert build.unknown_volume_id() != build.unknown_volume_id()


def test_sources_are_of_one_kind() -> None:
    """A restore or a clone."""
    assert from_snapshot("s").WhichOneof("type") == "snapshot"
    assert from_volume("v").WhichOneof("type") == "volume"
    request = requests().volume(source=from_snapshot("s"))
    assert request.volume_content_source.snapshot.snapshot_id == "s"
