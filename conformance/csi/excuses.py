"""Refusals that say nothing of the rule a case is about: the target is full, or an RPC that it
advertises is not there, which one case is about and all others would repeat."""

from __future__ import annotations

import functools
from typing import Any

from google.protobuf.message import Message

from conformance.csi import rpcs
from conformance.csi.cleanup import CleanUp
from conformance.csi.requests import Requests
from conformance.engine.verdict import Unjudged
from refimpl.csi.kubelet import Driver
from refimpl.wire.status import Code, Refused

__all__ = ["Excuses"]

_MISSING = "CSI-PROTO-004"  # every RPC that is advertised is there
_EPHEMERAL = "csi.storage.k8s.io/ephemeral"
_NO_ROOM = "no room on the target"
# Others fill a pool and a node as well, so that this is no breach of any of these.
_FILLING = frozenset(
    {
        "CreateSnapshot",
        "CreateVolumeGroupSnapshot",
        "ControllerPublishVolume",
        "ControllerExpandVolume",
    }
)


class Excuses:
    """driver, node: stubs whose refusals nobody explains, at the controller's endpoint and at the
    first node's."""

    def __init__(self, driver: Driver, node: Driver, requests: Requests, cleanup: CleanUp) -> None:
        self._driver, self._node = driver, node
        self._requests, self._cleanup = requests, cleanup

    def explained(self, method: str, request: Message, refusal: Refused) -> Refused:
        """The refusal itself, or that it is not about the rule."""
        rpc = rpcs.named(method.rpartition("/")[2])
        if refusal.code == Code.UNIMPLEMENTED and self._missing(rpc):
            return Unjudged(refusal, f"{rpc.name} is advertised and UNIMPLEMENTED", _MISSING)
        if self._full(rpc, request, refusal.code):
            return Unjudged(refusal, f"{_NO_ROOM}: {rpc.name} answers {refusal.code.name}")
        return refusal

    @functools.cache  # noqa: B019 - one target lives as long as its process
    def _missing(self, rpc: rpcs.Rpc) -> bool:
        """Whether an RPC that is due is not there, whatever it is asked."""
        if not rpc.due(self._requests.capabilities) or rpc.streams:
            return False
        driver = self._node if rpc.service == "Node" else self._driver
        try:
            rpcs.call(driver, rpc, rpc.request())
        except Refused as refusal:
            return refusal.code == Code.UNIMPLEMENTED
        return False

    def _full(self, rpc: rpcs.Rpc, request: Message, code: Code) -> bool:
        if rpc.name == "ControllerExpandVolume" and code == Code.OUT_OF_RANGE:
            return self._told() and self._short_of(request)  # CSI has no other code for it
        if code != Code.RESOURCE_EXHAUSTED:
            return False
        if rpc.name == "NodePublishVolume":
            return _makes_a_volume(request)
        if rpc.name != "CreateVolume":
            return rpc.name in _FILLING
        return not self._told() or self._short_of(request) or self._takes_none()

    def _told(self) -> bool:
        return "controller:GET_CAPACITY" in self._requests.capabilities

    def _short_of(self, request: Any) -> bool:
        """Whether GetCapacity tells less room than the request wants."""
        wanted = request.capacity_range
        size: int = wanted.required_bytes or wanted.limit_bytes
        if not size:
            return True  # the driver chooses a size, and nobody knows which
        question = self._requests.capacity(getattr(request, "parameters", None))
        try:
            told = self._driver.controller.GetCapacity(question)
        except Refused:
            return True
        return told.available_capacity < size

    def _takes_none(self) -> bool:
        """Whether there is no room even for a volume of the usual size, whatever is told: pools are
        full of volumes as well as of bytes."""
        with self._cleanup.trial():
            try:
                self._driver.controller.CreateVolume(self._requests.volume())
            except Refused as refusal:
                return refusal.code == Code.RESOURCE_EXHAUSTED
        return False


def _makes_a_volume(request: Any) -> bool:
    """Whether it is an inline volume that is published, which is made by that."""
    return bool(request.volume_context.get(_EPHEMERAL) == "true")
