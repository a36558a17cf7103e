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
from refimpl.wire.journal import Entry, Journal

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

    def __init__(self, steps: Steps, cleanup: CleanUp, journal: Journal) -> None:
        self._steps, self._cleanup, self._journal = steps, cleanup, journal
        self._made_by: dict[int, list[Entry]] = {}
        self._lent: dict[int, None] = {}
        self._end = CaseScope()
        self._created = Shared(partial(self._make, self._create), _copy_created)
        self._mounted = Shared(partial(self._make, steps.mount), _copy_mounted)

    def volume(self) -> pb.Volume:
        """A volume that is published nowhere."""
        return self._lend(self._created).volume

    def request(self) -> pb.CreateVolumeRequest:
        """What made `volume`."""
        return self._lend(self._created).request

    def mount(self) -> Mounted:
        """Another volume, published on the first node."""
        if "controller:CREATE_DELETE_VOLUME" not in self._steps.requests.capabilities:
            return self._steps.mount()  # the one volume there is must be free for the next case
        return self._lend(self._mounted)

    def begin(self) -> None:
        """A case begins, and nothing is lent to it yet."""
        self._lent.clear()

    def calls(self, until: int) -> list[Entry]:
        """What made the objects that were lent to the case, of the calls up to that number: those
        before the case."""
        calls = (call for number in self._lent for call in self._made_by[number])
        return [call for call in calls if call.seq <= until]

    def _lend(self, shared: Shared[T]) -> T:
        mark = self._journal.seq
        known, lent = shared.made, shared.lend(self._cleanup.scope)
        if not known:
            self._made_by[id(shared)] = self._journal.since(mark)
        self._lent[id(shared)] = None
        return lent

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
