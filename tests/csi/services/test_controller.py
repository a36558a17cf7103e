"""The Controller service: what of a request reaches the state, and what of it the reply."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.state.capabilities import NUMBERS
from refimpl.wire.status import Code

MIB = 1 << 20


def test_capabilities_are_told_by_number(serve: Any, call: Any) -> None:
    """Those of the settings, once each."""
    request = pb.ControllerGetCapabilitiesRequest()
    answer = serve().controller.ControllerGetCapabilities(request, call)
    types = [entry.rpc.type for entry in answer.capabilities]
    dropped = NUMBERS["controller"]["VOLUME_CONDITION"]
    assert types == [number for number in NUMBERS["controller"].values() if number != dropped]


def test_every_field_of_a_creation_counts(served: Any) -> None:
    """A field that got lost on the way could not refuse anything."""
    key = served.state.settings.topology_key
    created = served.volume(
        parameters={"kind": "fast"},
        mutable_parameters={"iops": "5"},
        capacity_range=pb.CapacityRange(required_bytes=MIB, limit_bytes=MIB),
        accessibility_requirements=pb.TopologyRequirement(
            requisite=[pb.Topology(segments={key: "zone-b"})]
        ),
    )
    assert created.capacity_bytes == MIB
    assert created.volume_context == {"kind": "fast"}
    assert created.accessible_topology[0].segments == {key: "zone-b"}
    record = served.state.tables.volumes[created.volume_id]
    assert record.mutable == {"iops": "5"}
    source = pb.VolumeContentSource(
        volume=pb.VolumeContentSource.VolumeSource(volume_id=created.volume_id)
    )
    clone = served.volume("b", parameters={"kind": "fast"}, volume_content_source=source)
    assert clone.content_source == source


def test_secrets_reach_the_rules(serve: Any, call: Any, refused: Any) -> None:
    """Of every RPC that has them."""
    rpcs = {"CreateVolume", "DeleteVolume", "ControllerPublishVolume"}
    served = serve(secrets={rpc: {"k": "v"} for rpc in rpcs})
    with refused(Code.INVALID_ARGUMENT, "'k'"):
        served.volume()
    created = served.volume(secrets={"k": "v"})
    with refused(Code.UNAUTHENTICATED):
        request = pb.DeleteVolumeRequest(volume_id=created.volume_id, secrets={"k": "x"})
        served.controller.DeleteVolume(request, call)


def test_an_unset_message_is_not_an_empty_one(served: Any, call: Any, refused: Any) -> None:
    """proto3: presence decides between a default and an error."""
    volume = served.volume()
    with refused(Code.INVALID_ARGUMENT, "missing"):
        request = pb.ControllerPublishVolumeRequest(volume_id=volume.volume_id, node_id="node-0")
        served.controller.ControllerPublishVolume(request, call)
    with refused(Code.INVALID_ARGUMENT, "missing"):
        expand = pb.ControllerExpandVolumeRequest(volume_id=volume.volume_id)
        served.controller.ControllerExpandVolume(expand, call)
    with refused(Code.INVALID_ARGUMENT, "neither"):
        expand.capacity_range.SetInParent()
        served.controller.ControllerExpandVolume(expand, call)
    capacity = pb.GetCapacityRequest()
    assert served.controller.GetCapacity(capacity, call).available_capacity > 0
    capacity.accessible_topology.segments["other"] = "place"
    assert served.controller.GetCapacity(capacity, call).available_capacity == 0


def test_a_volume_is_attached_listed_and_detached(served: Any, call: Any, mount: Any) -> None:
    """The list and GetVolume tell the node, as LIST_VOLUMES_PUBLISHED_NODES demands."""
    volume = served.volume()
    request = pb.ControllerPublishVolumeRequest(
        volume_id=volume.volume_id,
        node_id="node-0",
        volume_capability=mount,
        volume_context=volume.volume_context,
    )
    assert served.controller.ControllerPublishVolume(request, call).publish_context
    (entry,) = served.controller.ListVolumes(pb.ListVolumesRequest(), call).entries
    assert entry.volume == volume
    assert entry.status.published_node_ids == ["node-0"]
    get = pb.ControllerGetVolumeRequest(volume_id=volume.volume_id)
    assert served.controller.ControllerGetVolume(get, call).status.published_node_ids == ["node-0"]
    detaching = pb.ControllerUnpublishVolumeRequest(volume_id=volume.volume_id)
    served.controller.ControllerUnpublishVolume(detaching, call)
    (entry,) = served.controller.ListVolumes(pb.ListVolumesRequest(), call).entries
    assert entry.HasField("status")
    assert entry.status.published_node_ids == []


def test_conditions_are_told_in_1_12_only(serve: Any, call: Any) -> None:
    """1.13 reserves the field."""
    for revision in ("1.12", "1.13"):
        served = serve(revision=revision)
        volume = served.volume()
        served.state.health.break_volume(volume.volume_id, "DEGRADED", "Slow")
        (entry,) = served.controller.ListVolumes(pb.ListVolumesRequest(), call).entries
        get = pb.ControllerGetVolumeRequest(volume_id=volume.volume_id)
        for status in (entry.status, served.controller.ControllerGetVolume(get, call).status):
            assert status.HasField("volume_condition") == (revision == "1.12")
            assert status.volume_condition.abnormal == (revision == "1.12")


def test_a_plain_list_has_no_status(serve: Any, call: Any) -> None:
    """Without a capability that demands it."""
    served = serve(without=("LIST_VOLUMES_PUBLISHED_NODES",))
    served.volume()
    (entry,) = served.controller.ListVolumes(pb.ListVolumesRequest(), call).entries
    assert not entry.HasField("status")


def test_pages_and_their_tokens_pass(served: Any, call: Any) -> None:
    """In both directions."""
    for name in "abc":
        served.volume(name)
    page = served.controller.ListVolumes(pb.ListVolumesRequest(max_entries=2), call)
    next_request = pb.ListVolumesRequest(starting_token=page.next_token)
    assert (len(page.entries), len(served.controller.ListVolumes(next_request, call).entries)) == (
        2,
        1,
    )


def test_bounds_of_a_volume_are_told_or_left_out(serve: Any, call: Any) -> None:
    """Unset is another answer than 0."""
    answer = serve().controller.GetCapacity(pb.GetCapacityRequest(), call)
    assert answer.maximum_volume_size.value == 16 << 40
    assert answer.minimum_volume_size.value == 4096
    bare = serve(maximum=0, minimum=0).controller.GetCapacity(pb.GetCapacityRequest(), call)
    assert not bare.HasField("maximum_volume_size")
    assert not bare.HasField("minimum_volume_size")


def test_an_unknown_size_is_nought(serve: Any, call: Any) -> None:
    """In every answer that shows a volume."""
    served = serve(report_capacity=False)
    volume = served.volume()
    (entry,) = served.controller.ListVolumes(pb.ListVolumesRequest(), call).entries
    assert (volume.capacity_bytes, entry.volume.capacity_bytes) == (0, 0)


def test_validation_confirms_what_was_sent(served: Any, call: Any, mount: Any) -> None:
    """Or says why not, and confirms nothing."""
    volume = served.volume(parameters={"kind": "fast"})
    request = pb.ValidateVolumeCapabilitiesRequest(
        volume_id=volume.volume_id,
        volume_capabilities=[mount],
        volume_context=volume.volume_context,
        parameters={"kind": "fast"},
    )
    answer = served.controller.ValidateVolumeCapabilities(request, call)
    assert answer.confirmed.volume_capabilities == [mount]
    assert answer.confirmed.volume_context == volume.volume_context
    assert answer.confirmed.parameters == {"kind": "fast"}
    request.parameters["kind"] = "default"
    answer = served.controller.ValidateVolumeCapabilities(request, call)
    assert not answer.HasField("confirmed")
    assert answer.message


def test_deleting_reaches_the_state(served: Any, call: Any) -> None:
    """And may be repeated."""
    request = pb.DeleteVolumeRequest(volume_id=served.volume().volume_id)
    for _ in range(2):
        served.controller.DeleteVolume(request, call)
    assert served.state.tables.volumes == {}
    assert served.points[-2:] == ["DeleteVolume.before_effect", "DeleteVolume.after_effect"]


def test_expanding_and_modifying(served: Any, call: Any, mount: Any) -> None:
    """Both reach the record."""
    volume = served.volume()
    answer = served.controller.ControllerExpandVolume(
        pb.ControllerExpandVolumeRequest(
            volume_id=volume.volume_id,
            capacity_range=pb.CapacityRange(required_bytes=2 * MIB),
            volume_capability=mount,
        ),
        call,
    )
    assert (answer.capacity_bytes, answer.node_expansion_required) == (2 * MIB, True)
    served.controller.ControllerModifyVolume(
        pb.ControllerModifyVolumeRequest(
            volume_id=volume.volume_id, mutable_parameters={"iops": "9"}
        ),
        call,
    )
    assert served.state.tables.volumes[volume.volume_id].mutable == {"iops": "9"}


@pytest.mark.parametrize("repeat", [1, 2])
def test_crash_points_lie_on_both_sides_of_the_effect(served: Any, repeat: int) -> None:
    """Also where a call is repeated: each call passes its own."""
    for _ in range(repeat):
        served.volume()
    assert served.points == ["CreateVolume.before_effect", "CreateVolume.after_effect"] * repeat
