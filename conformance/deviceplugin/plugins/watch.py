"""A ListAndWatch of a case's own, beside kubelet's."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from typing import cast

import grpc

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.wire.client import Channel
from refimpl.wire.status import Code, Refused

__all__ = ["Watch", "listed"]


class Watch:
    """Reads lists until `cancel` or the plugin's end. `ended` says how it ended, empty while it is
    open; `cancelled` that it was us. `times`: when each list came, in seconds of time.monotonic."""

    def __init__(self, channel: Channel) -> None:
        self.lists: list[pb.ListAndWatchResponse] = []
        self.times: list[float] = []
        self.ended, self.cancelled = "", False
        stub = stubs.DevicePluginStub(cast("grpc.Channel", channel))
        self._replies = stub.ListAndWatch(pb.Empty(), timeout=math.inf)
        self._thread = threading.Thread(target=self._read, name="refimpl-watch", daemon=True)
        self._thread.start()

    @property
    def newest(self) -> Mapping[str, str]:
        """Id -> health of the newest list; empty before the first."""
        return listed(self.lists[-1]) if self.lists else {}

    def cancel(self) -> None:
        """Ends it."""
        self.cancelled = True
        self._replies.cancel()
        self._thread.join(5)

    def _read(self) -> None:
        try:
            for message in self._replies:
                self.times.append(time.monotonic())
                self.lists.append(message)
            self.ended = "the plugin ended it with OK"
        except Refused as refused:
            self.ended = "we cancelled it" if refused.code == Code.CANCELLED else str(refused)


def listed(message: pb.ListAndWatchResponse) -> Mapping[str, str]:
    """Id -> health, the last entry of an id counting."""
    return {device.ID: device.health for device in message.devices}
