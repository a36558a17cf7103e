"""The lists as streams, for nodes whose lists are longer than a message may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from google.protobuf.message import Message

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.services.containers import ContainerRpcs
from refimpl.cri.services.images import ImageRpcs
from refimpl.cri.services.sandboxes import SandboxRpcs
from refimpl.cri.services.stats import StatsRpcs
from refimpl.cri.state import RuntimeState
from refimpl.wire.server import Call

__all__ = ["ImageListRpcs", "ListRpcs"]

_ITEMS, _BYTES = 1000, 2 << 20
"""Most of one message; an item that is longer has one of its own."""

R = TypeVar("R")
T = TypeVar("T", bound=Message)


class ListRpcs:
    """The Stream RPCs of RuntimeService: each sends what the list beside it returns."""

    def __init__(self, state: RuntimeState) -> None:
        self._sandboxes, self._containers = SandboxRpcs(state), ContainerRpcs(state)
        self._stats = StatsRpcs(state)

    def StreamPodSandboxes(
        self, request: pb.StreamPodSandboxesRequest, call: Call
    ) -> Iterator[pb.StreamPodSandboxesResponse]:
        """ListPodSandbox."""
        whole = pb.ListPodSandboxRequest(filter=request.filter)
        items = self._sandboxes.ListPodSandbox(whole, call).items
        return _batches(items, lambda each: pb.StreamPodSandboxesResponse(pod_sandboxes=each))

    def StreamContainers(
        self, request: pb.StreamContainersRequest, call: Call
    ) -> Iterator[pb.StreamContainersResponse]:
        """ListContainers."""
        whole = pb.ListContainersRequest(filter=request.filter)
        items = self._containers.ListContainers(whole, call).containers
        return _batches(items, lambda each: pb.StreamContainersResponse(containers=each))

    def StreamContainerStats(
        self, request: pb.StreamContainerStatsRequest, call: Call
    ) -> Iterator[pb.StreamContainerStatsResponse]:
        """ListContainerStats."""
        whole = pb.ListContainerStatsRequest(filter=request.filter)
        items = self._stats.ListContainerStats(whole, call).stats
        return _batches(items, lambda each: pb.StreamContainerStatsResponse(container_stats=each))

    def StreamPodSandboxStats(
        self, request: pb.StreamPodSandboxStatsRequest, call: Call
    ) -> Iterator[pb.StreamPodSandboxStatsResponse]:
        """ListPodSandboxStats."""
        whole = pb.ListPodSandboxStatsRequest(filter=request.filter)
        items = self._stats.ListPodSandboxStats(whole, call).stats
        return _batches(
            items, lambda each: pb.StreamPodSandboxStatsResponse(pod_sandbox_stats=each)
        )


class ImageListRpcs:
    """That of ImageService."""

    def __init__(self, images: ImageRpcs) -> None:
        self._images = images

    def StreamImages(
        self, request: pb.StreamImagesRequest, call: Call
    ) -> Iterator[pb.StreamImagesResponse]:
        """ListImages."""
        items = self._images.ListImages(pb.ListImagesRequest(filter=request.filter), call).images
        return _batches(items, lambda each: pb.StreamImagesResponse(images=each))


def _batches(items: Iterable[T], reply: Callable[[list[T]], R]) -> Iterator[R]:
    """Replies of one item at least; none where there are no items."""
    batch: list[T] = []
    size = 0
    for item in items:
        length = item.ByteSize()
        if batch and (len(batch) == _ITEMS or size + length > _BYTES):
            yield reply(batch)
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield reply(batch)
