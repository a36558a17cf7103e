"""The pods API, which kubelet serves since 1.37: the pods of its node (contract 1.1)."""
# RPC methods keep the names of the protocol.
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from google.protobuf.descriptor import ServiceDescriptor

from refimpl.deviceplugin.api import pods_v1alpha1_pb2 as pb
from refimpl.deviceplugin.devicemanager.node import NodeRecord
from refimpl.deviceplugin.devicemanager.podbytes import PodNote, to_bytes
from refimpl.deviceplugin.devicemanager.podresources import Limiter
from refimpl.deviceplugin.devicemanager.workload import PodRun
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

__all__ = ["GATE", "PodsService", "services"]

GATE = "PodsAPI"
_LONG_S = 3600.0

Notes = Mapping[str, PodNote]


class PodsService:
    """v1alpha1. `ready`: whether kubelet has heard of all its pods since it started; before that
    every call is FAILED_PRECONDITION. The watch has no limit, unary calls have that of pod
    resources."""

    def __init__(self, node: NodeRecord, limiter: Limiter, ready: Callable[[], bool]) -> None:
        self._node, self._limiter, self._ready = node, limiter, ready

    def ListPods(self, _request: pb.ListPodsRequest, _call: Call) -> pb.ListPodsResponse:
        """All pods, finished ones too, in the order of their uids."""
        self._limiter.take()
        self._check()
        return pb.ListPodsResponse(pods=map(to_bytes, self._notes().values()))

    def GetPod(self, request: pb.GetPodRequest, _call: Call) -> pb.GetPodResponse:
        """One pod by its uid; NOT_FOUND."""
        self._limiter.take()
        self._check()
        note = self._notes().get(request.podUID)
        if note is None:
            text = f"no pod here has the uid {request.podUID!a}: ListPods names those there are"
            raise Refused(Code.NOT_FOUND, text)
        return pb.GetPodResponse(pod=to_bytes(note))

    def WatchPods(self, _request: pb.WatchPodsRequest, call: Call) -> Iterator[pb.WatchPodsEvent]:
        """What there is, a mark that this was all, and changes until the caller ends it."""
        self._check()
        call.on_cancel(self._node.touch)
        seen, before = self._node.events, self._notes()
        for note in before.values():
            yield _event(pb.ADDED, note)
        yield pb.WatchPodsEvent(type=pb.INITIAL_SYNC_COMPLETE)
        while not call.cancelled():
            self._node.wait(seen, _LONG_S)
            seen, now = self._node.events, self._notes()
            yield from _changes(before, now)
            before = now

    def _check(self) -> None:
        if not self._ready():
            text = "kubelet has not heard of its pods yet: ask again in a second"
            raise Refused(Code.FAILED_PRECONDITION, text)

    def _notes(self) -> dict[str, PodNote]:
        runs = sorted(self._node.workload, key=lambda run: run.pod.uid)
        return {run.pod.uid: _note(run) for run in runs}


def services(
    node: NodeRecord, limiter: Limiter, ready: Callable[[], bool]
) -> Mapping[ServiceDescriptor, object]:
    """For the server at pods-api."""
    return {pb.DESCRIPTOR.services_by_name["Pods"]: PodsService(node, limiter, ready)}


def _note(run: PodRun) -> PodNote:
    pod = run.pod
    app, init = (tuple(each.name for each in group) for group in (pod.app, pod.init))
    return PodNote(pod.name, pod.namespace, pod.uid, app, init, run.phase)


def _changes(before: Notes, now: Notes) -> Iterator[pb.WatchPodsEvent]:
    for uid, note in now.items():
        if before.get(uid) != note:
            yield _event(pb.MODIFIED if uid in before else pb.ADDED, note)
    for uid in before.keys() - now.keys():
        gone = before[uid]
        yield _event(pb.DELETED, PodNote(gone.name, gone.namespace, uid))


def _event(kind: pb.EventType.ValueType, note: PodNote) -> pb.WatchPodsEvent:
    return pb.WatchPodsEvent(type=kind, pod=to_bytes(note))
