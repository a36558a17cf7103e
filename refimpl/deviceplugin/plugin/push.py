"""Registering with kubelet.sock, as nearly all device plugins do."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import cast

import grpc

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.devicemanager.layout import KUBELET_SOCKET
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, probe
from refimpl.wire.journal import Journal

__all__ = ["VERSION", "Push"]

VERSION = "v1beta1"
"""The one version there is."""

CONNECT_S, REGISTER_S = 1.0, 30.0
# Kubelet dials back for up to 10 s before it answers, so the second is well above that.


class Push:
    """Asks the kubelet whose socket lies in `folder` to register a resource."""

    def __init__(
        self,
        folder: Path,
        resource: str,
        options: pb.DevicePluginOptions,
        *,
        version: str = VERSION,
        journal: Journal | None = None,
    ) -> None:
        self.kubelet = Endpoint.parse(folder / KUBELET_SOCKET)
        self._resource, self._options, self._version = resource, options, version
        self._journal = journal
        self._lock = threading.Lock()
        self._channel: Channel | None = None
        self._cancelled = False

    def register(self, endpoint: Endpoint) -> None:
        """Raises Refused with kubelet's words, and Unreachable where no kubelet serves."""
        request = pb.RegisterRequest(
            version=self._version,
            endpoint=os.path.basename(endpoint.path),
            resource_name=self._resource,
            options=self._options,
        )
        # Without waiting: the folder is watched for the day it comes.
        if (socket := probe(self.kubelet)) != "live":
            raise Unreachable(f"no kubelet listens at {self.kubelet}: it is {socket}")
        with Channel(self.kubelet, journal=self._journal) as channel:
            with self._lock:
                if self._cancelled:
                    raise Unreachable(f"{self.kubelet} is not asked any more")
                self._channel = channel
            channel.wait_ready(CONNECT_S)
            call_register(request, channel)

    def cancel(self) -> None:
        """Ends a `register` that runs in another thread, and those to come."""
        with self._lock:
            self._cancelled = True
            if self._channel is not None:
                self._channel.close()


def call_register(request: pb.RegisterRequest, channel: Channel) -> None:
    """The call itself; raises Refused with kubelet's words."""
    stubs.RegistrationStub(cast("grpc.Channel", channel)).Register(request, timeout=REGISTER_S)
