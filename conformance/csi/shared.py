"""A volume and a mount that outlast a case, for cases that only ask about one, repeat what made it,
or send what has to be refused, and leave it as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import attrs
from google.protobuf.message import Message

from conformance.csi.cleanup import CleanUp, quietly
from conformance.csi.steps import Mounted, Steps
from conformance.engine.scope import CaseScope, Shared
from refimpl.csi.api import csi_pb2 as pb

__all__ = ["SharedObjects"]

T = TypeVar("T")
M = TypeVar("M", bound=Message)


@attrs.frozen
class _Created:
    """A volume, and what made it."""

    request: pb.CreateVolumeRequest
    volume: pb.Volume


class SharedObjects:
    """Each is made for the first case that asks, lent to the others as a copy, and made anew after
    a case that failed."""

    def __init__(self, steps: Steps, cleanup: CleanUp) -> None:
        self._steps, self._cleanup = steps, cleanup
        self._end = CaseScope()
        self._created = Shared(partial(self._make, self._create), _copy_created)
        self._mounted = Shared(partial(self._make, steps.mount), _copy_mounted)

    def volume(self) -> pb.Volume:
        """A volume that is published nowhere."""
        return self._created.lend(self._cleanup.scope).volume

    def request(self) -> pb.CreateVolumeRequest:
        """What made `volume`."""
        return self._created.lend(self._cleanup.scope).request

    def mount(self) -> Mounted:
        """Another volume, published on the first node."""
        if "controller:CREATE_DELETE_VOLUME" not in self._steps.requests.capabilities:
            return self._steps.mount()  # the one volume there is must be free for the next case
        return self._mounted.lend(self._cleanup.scope)

    def forget(self) -> None:
        """Makes them anew for the next case: the driver that had them is gone. What is left of
        them is undone at the end."""
        self._created.forget()
        self._mounted.forget()

    def close(self) -> None:
        """Undoes them all."""
        self._end.close()

    def _create(self) -> _Created:
        request = self._steps.requests.volume()
        return _Created(request, self._steps.volume(request))

    def _make(self, make: Callable[[], T], scope: CaseScope) -> T:
        own = CaseScope()
        for each in (scope, self._end):
            each.callback(partial(quietly, own))
        with self._cleanup.within(own):
            return make()


def _copy(message: M) -> M:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _copy_created(created: _Created) -> _Created:
    return _Created(_copy(created.request), _copy(created.volume))


def _copy_mounted(mounted: Mounted) -> Mounted:
    volume, request = _copy(mounted.volume), _copy(mounted.request)
    return attrs.evolve(mounted, volume=volume, request=request)
