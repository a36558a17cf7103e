"""The pods of the node, told by kubelet itself on a socket of its own (PR)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import grpc

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, expect_status, timeout, together
from conformance.kubelet.needs import since
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import pods_v1alpha1_pb2 as pb
from refimpl.deviceplugin.api.pods_v1alpha1_pb2_grpc import PodsStub
from refimpl.deviceplugin.devicemanager.podbytes import PodNote, from_bytes
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Code


@case(
    "PR-035",
    "pods API v1alpha1, on by default since 1.37",
    needs=[Feature("pods"), Feature("pods-api"), since("1.37")],
)
def test_the_pods_of_the_node_are_told_on_a_socket_of_their_own(node: NodeUnderTest) -> None:
    """Agents learn of pods without the API server, and of their end before it does."""
    pod = node.pods.running()
    socket = Endpoint.parse(node.client.root / "pods-api" / "pods-api.sock")
    with together() as check, Channel(socket, journal=node.journal) as channel:
        stub = PodsStub(cast("grpc.Channel", channel))
        listed = node.podresources.patiently(lambda: stub.ListPods(pb.ListPodsRequest()))
        with check:
            _expect_told("ListPods", listed.pods, pod.uid, pod.name)
        reply = node.podresources.patiently(lambda: stub.GetPod(pb.GetPodRequest(podUID=pod.uid)))
        with check:
            _expect_told("GetPod", [reply.pod], pod.uid, pod.name)
        unknown = pb.GetPodRequest(podUID="refimpl-no-such-uid")
        with check:
            expect_status(
                lambda: node.podresources.patiently(lambda: stub.GetPod(unknown)),
                {Code.NOT_FOUND},
                "GetPod of an unknown uid is refused",
            )
        events = stub.WatchPods(pb.WatchPodsRequest(), timeout=timeout(20))
        first = []
        for event in events:
            if event.type == pb.INITIAL_SYNC_COMPLETE:
                break
            with check:
                expect(
                    event.type == pb.ADDED,
                    "a watch begins with ADDED",
                    wanted="ADDED",
                    got=event,
                )
            first.append(event.pod)
        with check:
            _expect_told("WatchPods", first, pod.uid, pod.name)
        events.cancel()


def _expect_told(rpc: str, pods: Iterable[bytes], uid: str, name: str) -> None:
    replies = [_read(rpc, each) for each in pods]
    own = [(each.name, each.phase) for each in replies if each.uid == uid]
    expect(
        own == [(name, "Running")],
        f"{rpc} tells the pod as it is, once",
        wanted=f"{name}, Running",
        got=own or replies,
    )


def _read(rpc: str, data: bytes) -> PodNote:
    try:
        return from_bytes(data)
    except ValueError as error:
        raise AssertionError(f"{rpc}: a pod is the bytes of a core/v1 Pod, but {error}") from error
