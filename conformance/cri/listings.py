"""The six lists that may be asked for as a stream, and what each is a list of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from conformance.cri.needs import served
from conformance.cri.target import CriTarget
from refimpl.cri.api import cri_pb2 as pb

__all__ = ["LISTINGS", "Listing"]


@attrs.frozen
class Listing:
    """stream, whole: the two RPCs. wanted: the type of their filter, None where there is none.
    id: of an item."""

    stream: str
    whole: str
    wanted: Any
    id: Callable[[Any], str]

    def missing(self, cri: CriTarget) -> str:
        """Why the runtime has no such stream, empty where it has."""
        return cri.lacks[served(self.stream).name]

    def request(self, rpc: str, wanted: Any) -> Any:
        """Of either RPC, with a filter or without."""
        kind = getattr(pb, f"{rpc}Request")
        return kind(filter=wanted) if wanted is not None and self.wanted else kind()

    def messages(self, cri: CriTarget, wanted: Any = None) -> Iterator[Sequence[Any]]:
        """The items of each message. Raises Refused."""
        for reply in self.call(cri, self.stream)(self.request(self.stream, wanted)):
            yield _items(reply)

    def streamed(self, cri: CriTarget, wanted: Any = None) -> list[str]:
        """The ids in all messages."""
        return [self.id(each) for items in self.messages(cri, wanted) for each in items]

    def listed(self, cri: CriTarget, wanted: Any = None) -> list[str]:
        """The ids in the list."""
        return [
            self.id(each)
            for each in _items(self.call(cri, self.whole)(self.request(self.whole, wanted)))
        ]

    @staticmethod
    def call(cri: CriTarget, rpc: str) -> Callable[..., Any]:
        """The stub of an RPC."""
        method: Callable[..., Any] = getattr(cri.images if "Image" in rpc else cri.runtime, rpc)
        return method


def _items(reply: Any) -> Sequence[Any]:
    """Each of these replies has one field."""
    (field,) = reply.DESCRIPTOR.fields
    items: Sequence[Any] = getattr(reply, field.name)
    return items


def _own(item: Any) -> str:
    return str(item.id)


def _attributed(item: Any) -> str:
    return str(item.attributes.id)


LISTINGS: Sequence[Listing] = (
    Listing("StreamPodSandboxes", "ListPodSandbox", pb.PodSandboxFilter, _own),
    Listing("StreamContainers", "ListContainers", pb.ContainerFilter, _own),
    Listing("StreamContainerStats", "ListContainerStats", pb.ContainerStatsFilter, _attributed),
    Listing("StreamPodSandboxStats", "ListPodSandboxStats", pb.PodSandboxStatsFilter, _attributed),
    Listing(
        "StreamPodSandboxMetrics",
        "ListPodSandboxMetrics",
        None,
        lambda item: str(item.pod_sandbox_id),
    ),
    Listing("StreamImages", "ListImages", pb.ImageFilter, _own),
)
