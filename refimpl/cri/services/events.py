"""GetContainerEvents."""

from __future__ import annotations

import queue
from collections.abc import Iterator

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.codec import containers, sandboxes
from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import Wanted
from refimpl.cri.state.tables import Change
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

__all__ = ["EventRpcs"]

_MOST = 10_000
"""Events kept for a client that does not read them."""


class EventRpcs:
    """What becomes of sandboxes and containers, as it does; nothing of what was before."""

    def __init__(self, state: RuntimeState) -> None:
        self._state, self._choices = state, state.settings.events

    def GetContainerEvents(
        self, request: pb.GetEventsRequest, call: Call
    ) -> Iterator[pb.ContainerEventResponse]:
        """Until the client leaves. RESOURCE_EXHAUSTED for one that is far behind: it has to list
        anew, as after any end of the stream."""
        if not self._choices.served:
            return
        waiting: queue.SimpleQueue[pb.ContainerEventResponse | None] = queue.SimpleQueue()

        def hear(change: Change) -> None:
            if waiting.qsize() <= _MOST:
                waiting.put(self._event(change))

        leave = self._state.core.listen(hear)
        call.on_cancel(lambda: waiting.put(None))
        try:
            while (event := waiting.get()) is not None:
                if waiting.qsize() >= _MOST:
                    raise Refused(
                        Code.RESOURCE_EXHAUSTED,
                        f"{_MOST} events wait to be read: read them faster, and list what there is",
                    )
                yield event
        finally:
            leave()

    def _event(self, change: Change) -> pb.ContainerEventResponse:
        """As all is at this moment, for which the state stands still."""
        event = pb.ContainerEventResponse(
            container_id=change.container_id or change.sandbox_id,
            container_event_type=pb.ContainerEventType.ValueType(int(change.what)),
            created_at=change.at,
        )
        settings, sandbox = self._state.settings, self._state.sandboxes.find(change.sandbox_id)
        if sandbox is not None:
            event.pod_sandbox_status.CopyFrom(sandboxes.status(sandbox, settings.sandboxes))
        for each in self._state.containers.select(Wanted(sandbox_id=change.sandbox_id)):
            event.containers_statuses.append(containers.status(each, settings))
        return event
