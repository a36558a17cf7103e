"""What happens around each call of a case: what it makes is counted, what it is refused with is
explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from google.protobuf.message import Message

from conformance.csi.excuses import Excuses
from conformance.csi.holdings import Holdings
from refimpl.wire.status import Refused

__all__ = ["Watch", "WatchedChannel"]


@attrs.define
class Watch:
    """Both are there once it is known what the driver advertises."""

    holdings: Holdings | None = None
    excuses: Excuses | None = None

    def perform(self, method: str, request: Message, call: Callable[[Message], Any]) -> Any:
        """Makes the call; raises Refused, or skips the case."""
        if self.holdings:
            self.holdings.before(method, request)
        try:
            reply = call(request)
        except Refused as refusal:
            if self.excuses:
                raise self.excuses.explained(method, request, refusal) from None
            raise
        if self.holdings:
            self.holdings.after(method, request, reply)
        return reply


class WatchedChannel:
    """A channel whose unary calls are watched; what generated stubs are made over."""

    def __init__(self, channel: Any, watch: Watch) -> None:
        self._channel, self._watch = channel, watch

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """The caller of one method."""
        call = self._channel.unary_unary(method, *args, **kwargs)

        def watched(request: Message, **options: Any) -> Any:
            return self._watch.perform(method, request, lambda sent: call(sent, **options))

        return watched

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)
