"""Every profile in both revisions: it starts, and answers as it advertises."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.api import csi_pb2_grpc as rpc
from refimpl.csi.fake import FakeDriver
from refimpl.csi.profiles import PROFILES, settings_of
from refimpl.csi.state.capabilities import IMPLICATIONS, PREREQUISITES
from refimpl.wire.client import Channel
from refimpl.wire.status import Code, Refused

STUBS = {
    "Identity": rpc.IdentityStub,
    "Controller": rpc.ControllerStub,
    "GroupController": rpc.GroupControllerStub,
    "SnapshotMetadata": rpc.SnapshotMetadataStub,
    "Node": rpc.NodeStub,
}
every_profile = pytest.mark.parametrize("profile", PROFILES)
both_revisions = pytest.mark.parametrize("revision", ["1.12", "1.13"])


def asked_for_nothing(channel: Channel, method: Any) -> Code:
    """The status of an RPC that is sent an empty request."""
    stub = STUBS[method.containing_service.name](channel)
    request = getattr(pb, method.input_type.name)()
    try:
        answer = getattr(stub, method.name)(request)
        if method.server_streaming:
            list(answer)
    except Refused as error:
        refused = error
    else:
        return Code.OK
    assert refused.message
    assert refused.details == b""
    return refused.code


@every_profile
@both_revisions
def test_an_rpc_is_unimplemented_iff_it_is_not_advertised(profile: str, revision: Any) -> None:
    """What a caller learns from the capabilities has to be what it then meets."""
    settings = settings_of(profile, revision)
    with (
        FakeDriver(profile=profile, revision=revision, storage="memory") as driver,
        Channel(driver.endpoint) as channel,
    ):
        for service in pb.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                code = asked_for_nothing(channel, method)
                refused = method.name in settings.refusals
                assert (code == Code.UNIMPLEMENTED) == refused, (method.name, code)
                assert code in (Code.OK, Code.INVALID_ARGUMENT, Code.UNIMPLEMENTED)


@every_profile
@both_revisions
def test_capabilities_on_the_wire_follow_the_rules(profile: str, revision: Any) -> None:
    """Known to the revision, and none without what it implies."""
    settings = settings_of(profile, revision)
    with (
        FakeDriver(profile=profile, revision=revision, storage="memory") as driver,
        Channel(driver.endpoint) as channel,
    ):
        identity = rpc.IdentityStub(channel)
        reported = identity.GetPluginCapabilities(pb.GetPluginCapabilitiesRequest()).capabilities
    service, expansion = pb.PluginCapability.Service.Type, pb.PluginCapability.VolumeExpansion.Type
    names = [
        service.Name(capability.service.type)
        for capability in reported
        if capability.HasField("service")
    ]
    ways = [
        expansion.Name(capability.volume_expansion.type)
        for capability in reported
        if capability.HasField("volume_expansion")
    ]
    assert sorted(names) == sorted(settings.plugin)
    assert sorted(ways) == sorted(settings.expansion)
    for rule in IMPLICATIONS:
        if settings.has(*rule.name) and rule.required:
            assert any(settings.has(*name) for name in rule.one_of), rule


def test_the_default_offers_everything() -> None:
    """In 1.13 all 36 RPCs, in 1.12 the four about health are missing."""
    assert settings_of("default").refusals == {}
    late = {name for name, gate in PREREQUISITES.items() if gate.since == "1.13"}
    assert set(settings_of("default", "1.12").refusals) == late


@pytest.mark.parametrize(
    ("profile", "rpc_name"),
    [
        ("controller-only", "NodePublishVolume"),
        ("node-only", "CreateVolume"),
        ("no-staging", "NodeStageVolume"),
        ("read-only", "ControllerExpandVolume"),
        ("single-node", "ControllerPublishVolume"),
        ("no-attach", "ControllerPublishVolume"),
        ("snapshot-free", "CreateSnapshot"),
        ("offline-expansion", "NodeExpandVolume"),
        ("csi-1.0-minimal", "ListVolumes"),
    ],
)
def test_a_profile_leaves_out_what_it_is_named_for(profile: str, rpc_name: str) -> None:
    """Otherwise it would test nothing."""
    assert rpc_name in settings_of(profile).refusals


def test_unknown_names_are_told_with_the_known_ones() -> None:
    """A misspelt profile or revision must not become the default."""
    with pytest.raises(ValueError, match=r"csi-1\.0-minimal"):
        settings_of("minimal")
    with pytest.raises(ValueError, match=r"1\.12 and 1\.13"):
        settings_of("default", "1.11")  # type: ignore[arg-type]
