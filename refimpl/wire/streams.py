"""A call that is answered with a stream; see `methods` for what it shares with the others."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

import grpc

from refimpl.wire.call import Call
from refimpl.wire.faults import Action
from refimpl.wire.journal import STREAM_KEEP
from refimpl.wire.methods import Method, abort
from refimpl.wire.status import Refused

__all__ = ["StreamMethod"]


class StreamMethod(Method):
    """One request, any number of replies."""

    def serve(self, data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """The behaviour that grpc calls; journaled when the stream ends, however it does."""
        began = time.perf_counter()
        call = Call(self.path, context, self._serving.pool)
        entry = self._entry(call, data)
        replies_sent: deque[bytes] = deque(maxlen=STREAM_KEEP)
        actions: list[Action] = []
        refused: Refused | None = None
        try:
            yield from self._replies(data, call, actions, replies_sent)
            refused = call.ending() if call.cancelled() else None
        except GeneratorExit:
            refused = call.ending()
            raise
        except BaseException as error:
            refused = self._refusal(error, entry)
        finally:
            call.finish()
            entry.replies_are(*replies_sent)
            entry.duration_s = time.perf_counter() - began
            self._record(entry, actions, refused)
        if refused is not None:
            abort(context, refused)

    def _replies(
        self, data: bytes, call: Call, actions: list[Action], replies_sent: deque[bytes]
    ) -> Iterator[bytes]:
        request = self._decode(data)
        actions.extend(self._serving.faults.decide(self.path, request))
        with self._serving.streaming(call):
            for action in actions:
                action.before(call)
            replies = iter(self._implementation()(request, call))
            for action in actions:
                replies = action.stream(call, replies)
            for reply in replies:
                replies_sent.append(self._encode(reply))
                yield replies_sent[-1]
