"""The Identity service."""

from __future__ import annotations

from typing import Any

from refimpl.csi.api import csi_pb2 as pb


def test_who_the_driver_is(serve: Any, call: Any) -> None:
    """As the settings say."""
    served = serve(driver_name="a.example", vendor_version="7", manifest={"k": "v"})
    answer = served.identity.GetPluginInfo(pb.GetPluginInfoRequest(), call)
    assert (answer.name, answer.vendor_version, answer.manifest) == ("a.example", "7", {"k": "v"})


def test_what_the_driver_offers(serve: Any, call: Any) -> None:
    """Each capability once, services before ways of expansion."""
    served = serve(without=("expansion:OFFLINE", "SNAPSHOT_METADATA_SERVICE"))
    answer = served.identity.GetPluginCapabilities(pb.GetPluginCapabilitiesRequest(), call)
    services = [
        capability.service.type
        for capability in answer.capabilities
        if capability.HasField("service")
    ]
    assert services == [1, 2, 3, 5]
    expansions = [
        capability.volume_expansion.type for capability in answer.capabilities[len(services) :]
    ]
    assert expansions == [pb.PluginCapability.VolumeExpansion.ONLINE]


def test_whether_the_driver_is_ready(serve: Any, call: Any) -> None:
    """Set in any case: unset would count as ready."""
    for delay, ready in ((0.0, True), (5.0, False)):
        answer = serve(ready_after=delay).identity.Probe(pb.ProbeRequest(), call)
        assert answer.HasField("ready")
        assert answer.ready.value is ready
