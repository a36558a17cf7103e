"""Identity: who the driver is and what it offers, the same on each of its endpoints."""

from __future__ import annotations

from google.protobuf.wrappers_pb2 import BoolValue

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.state import DriverState
from refimpl.csi.state.capabilities import NUMBERS
from refimpl.wire.server import Call

_Service = pb.PluginCapability.Service
_Expansion = pb.PluginCapability.VolumeExpansion


class IdentityService:
    """CSI 1.13, Identity service RPC."""

    def __init__(self, state: DriverState) -> None:
        self._state = state

    def GetPluginInfo(
        self, request: pb.GetPluginInfoRequest, call: Call
    ) -> pb.GetPluginInfoResponse:
        """Name, version, manifest."""
        settings = self._state.settings
        return pb.GetPluginInfoResponse(
            name=settings.driver_name,
            vendor_version=settings.vendor_version,
            manifest=dict(settings.manifest),
        )

    def GetPluginCapabilities(
        self, request: pb.GetPluginCapabilitiesRequest, call: Call
    ) -> pb.GetPluginCapabilitiesResponse:
        """Services and ways of expansion, in the order of their numbers."""
        settings = self._state.settings
        services = [
            pb.PluginCapability(service=_Service(type=_Service.Type.Value(name)))
            for name in NUMBERS["plugin"]
            if settings.has("plugin", name)
        ]
        expansions = [
            pb.PluginCapability(volume_expansion=_Expansion(type=_Expansion.Type.Value(name)))
            for name in NUMBERS["expansion"]
            if settings.has("expansion", name)
        ]
        return pb.GetPluginCapabilitiesResponse(capabilities=services + expansions)

    def Probe(self, request: pb.ProbeRequest, call: Call) -> pb.ProbeResponse:
        """Ready, or still starting."""
        return pb.ProbeResponse(ready=BoolValue(value=self._state.ready()))
