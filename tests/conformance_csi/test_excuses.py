"""Which refusals are not about the rule of a case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.engine.verdict import Unjudged
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.faults import FaultRule, Status
from refimpl.wire.status import Code, Refused

Opener = Callable[..., Any]


def fault(csi: Any, rpc: str, code: Code, *, times: int | None = None) -> None:
    """From now on the fake refuses the RPC so."""
    csi.fake.faults.add(FaultRule(method=rpc, do=Status(code, "as told"), times=times))


def refusal(call: Callable[[], object]) -> Refused:
    """What the call is refused with."""
    with pytest.raises(Refused) as refused:
        call()
    return refused.value


def test_an_rpc_that_is_advertised_and_missing_belongs_to_one_case(opened: Opener) -> None:
    """All others would say the same."""
    csi = opened("mutant:AdvertisesWhatItHasNot")
    ask = pb.ControllerGetVolumeHealthRequest(volume_id="v")
    missing = refusal(lambda: csi.controller.ControllerGetVolumeHealth(ask))
    assert isinstance(missing, Unjudged)
    assert (missing.code, missing.owner) == (Code.UNIMPLEMENTED, "CSI-PROTO-004")
    assert missing.because == "ControllerGetVolumeHealth is advertised and UNIMPLEMENTED"


def test_an_rpc_that_is_there_for_other_requests_is_about_the_rule(csi: Any) -> None:
    """The one case finds nothing then, and this refusal would be lost."""
    fault(csi, "DeleteVolume", Code.UNIMPLEMENTED, times=1)
    delete = pb.DeleteVolumeRequest(volume_id="v")
    assert not isinstance(refusal(lambda: csi.controller.DeleteVolume(delete)), Unjudged)


def test_an_rpc_that_is_not_advertised_is_about_the_rule(opened: Opener) -> None:
    """That it is missing is right, and cases are about that."""
    csi = opened("fake:no-attach")
    request = pb.ControllerPublishVolumeRequest(volume_id="v", node_id="n")
    missing = refusal(lambda: csi.controller.ControllerPublishVolume(request))
    assert missing.code == Code.UNIMPLEMENTED
    assert not isinstance(missing, Unjudged)


def test_a_full_pool_is_no_breach(csi: Any) -> None:
    """Whatever else the case is about: GetCapacity tells how little is left."""
    csi.holdings.lifted = True
    while available := csi.controller.GetCapacity(csi.requests.capacity()).available_capacity:
        csi.steps.volume(csi.requests.volume(required=min(available, csi.sizes.maximum)))
    full = refusal(csi.steps.volume)
    assert isinstance(full, Unjudged)
    assert (full.code, full.owner) == (Code.RESOURCE_EXHAUSTED, "")
    assert full.because == "no room on the target: CreateVolume answers RESOURCE_EXHAUSTED"


def test_a_pool_may_be_full_of_volumes(csi: Any) -> None:
    """Bytes are left, and none of the usual size is made either; nothing is left of the trial."""
    assert csi.requests.volume()
    fault(csi, "CreateVolume", Code.RESOURCE_EXHAUSTED)
    assert isinstance(refusal(csi.steps.volume), Unjudged)
    assert not csi.fake.state.tables.volumes


def test_a_driver_that_tells_no_capacity_is_believed(opened: Opener) -> None:
    """Nobody can know better."""
    csi = opened("fake:csi-1.0-minimal")
    fault(csi, "CreateVolume", Code.RESOURCE_EXHAUSTED)
    assert isinstance(refusal(csi.steps.volume), Unjudged)


def test_who_has_room_and_says_that_it_has_none_breaks_a_rule(opened: Opener) -> None:
    """The code tells the caller to try again for ever."""
    csi = opened("mutant:CallsTooLargeExhausted")
    request = csi.requests.volume(required=csi.sizes.maximum + 1)
    wrong = refusal(lambda: csi.controller.CreateVolume(request))
    assert wrong.code == Code.RESOURCE_EXHAUSTED
    assert not isinstance(wrong, Unjudged)
    assert not csi.fake.state.tables.volumes


def test_a_full_node_is_no_breach_and_no_room_to_stage_is(csi: Any) -> None:
    """Volumes of others take places on a node; staging takes none."""
    for rpc, excused in (("ControllerPublishVolume", True), ("NodeStageVolume", False)):
        fault(csi, rpc, Code.RESOURCE_EXHAUSTED)
        stub = csi.node if rpc.startswith("Node") else csi.controller
        request = getattr(pb, f"{rpc}Request")(volume_id="v")
        full = refusal(lambda: getattr(stub, rpc)(request))  # noqa: B023 - called at once
        assert isinstance(full, Unjudged) == excused


def test_an_inline_volume_needs_room_where_it_is_published(csi: Any) -> None:
    """One that exists already needs none."""
    fault(csi, "NodePublishVolume", Code.RESOURCE_EXHAUSTED)
    for context, excused in (({"csi.storage.k8s.io/ephemeral": "true"}, True), ({}, False)):
        request = pb.NodePublishVolumeRequest(volume_id="v", volume_context=context)
        full = refusal(lambda: csi.node.NodePublishVolume(request))  # noqa: B023 - called at once
        assert isinstance(full, Unjudged) == excused
