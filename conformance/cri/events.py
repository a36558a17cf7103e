"""The event stream of a runtime, read by a thread as kubelet does."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from conformance.cri.target import CriTarget
from conformance.engine.verdict import eventually
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

__all__ = ["Events", "subscribed"]

_SOON_S = 20.0

Event = pb.ContainerEventResponse


class Events:
    """What one client hears. over: the stream has ended."""

    def __init__(self, cri: CriTarget) -> None:
        self._call = cri.runtime.GetContainerEvents(pb.GetEventsRequest())
        self._heard: list[Event] = []
        self.over = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def of(self, *ids: str) -> list[Event]:
        """Those that are about them, in order."""
        return [each for each in [*self._heard] if each.container_id in ids]

    def kinds(self, id: str) -> list[str]:
        """CREATED, STARTED ..., in order."""
        names = (pb.ContainerEventType.Name(each.container_event_type) for each in self.of(id))
        return [name.split("_")[1] for name in names]

    def any(self) -> bool:
        """Whether it has heard of anything."""
        return bool(self._heard)

    def until(self, heard: Callable[[], object], what: str) -> None:
        """Raises Broken where it never comes."""
        eventually(heard, _SOON_S, what, unless=lambda: "the stream has ended" * self.over.is_set())

    def until_deleted(self, *ids: str) -> None:
        """The last that is heard of each of them."""
        self.until(lambda: all("DELETED" in self.kinds(id) for id in ids), "DELETED is told of all")

    def close(self) -> None:
        """The client leaves."""
        self._call.cancel()
        self._reader.join(_SOON_S)

    def _read(self) -> None:
        with contextlib.suppress(Refused, Unreachable):
            for event in self._call:
                self._heard.append(event)
        self.over.set()


@contextlib.contextmanager
def subscribed(cri: CriTarget, number: int = 1) -> Iterator[Sequence[Events]]:
    """Clients that hear of all from now on: what a sandbox made for it becomes is heard by each.
    Raises Broken where nothing is heard."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(contextlib.closing(Events(cri))) for _ in range(number)]
        # Nothing says when a stream listens; sandboxes are made until it does.
        for client in clients:
            client.until(partial(_probed, cri, client), "a client hears of a sandbox")
        yield clients


def _probed(cri: CriTarget, client: Events) -> bool:
    if not client.any():
        cri.pods.run().remove()
    return client.any()
