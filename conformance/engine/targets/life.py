"""The life of a target that serves at sockets: its death and its silence are noticed, and it is
waited for or started again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from conformance.engine.options import BadOption
from conformance.engine.targets.supervise import Supervised
from conformance.engine.targets.target import Loss
from conformance.engine.verdict import soon, timeout
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, probe
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.status import Code, Refused

__all__ = ["BACK_S", "WAKE_S", "Guarded", "Life", "fatal", "no_sign"]

BACK_S = 30.0
"""How long a target of somebody else's is waited for, whose own supervisor may start it again."""
WAKE_S = 5.0
"""How long one that we started and that answers nothing has, before it is started again."""
SIGN_S = 5.0
"""How long the simplest call may take on a target that lives."""

# An RPC that ended the target so often, one call after the other, is not called any more; nor one
# that took so many whole deadlines.
_DEADLY, _OVERDUE = 3, 2


class Life:
    """journal: the calls to the target. process: what serves there, where we started it. silence:
    why nothing is asked of it any more, empty while it answers.

    sign: asks for a sign of life within a few seconds, whenever a deadline has passed; why there
    is none, empty where there is.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        journal: Journal,
        sign: Callable[[], str],
        process: Supervised | None = None,
    ) -> None:
        self.journal, self.process, self.silence = journal, process, ""
        self._endpoints, self._sign = list(endpoints), sign
        self._deaths: Counter[str] = Counter()
        self._overdue: Counter[str] = Counter()
        self._looked = journal.seq
        self._gone: Loss | None = None

    def observe(self, call: Entry) -> None:
        """Is told of every call that has ended."""
        if call.code == Code.OK:
            self._deaths.pop(call.method, None)
        if call.code != Code.DEADLINE_EXCEEDED:
            self._overdue.pop(call.method, None)
            return
        # A case may give up early on purpose.
        self._overdue[call.method] += call.duration_s >= timeout(SIGN_S)
        if not self.silence:
            self.silence = self._sign()

    def in_vain(self, method: str) -> bool:
        """Whether the target died of this method, or had no answer to it within the deadline, when
        it was last called."""
        return self._deaths[method] > 0 or self._overdue[method] > 0

    def check(self, method: str) -> None:
        """Skips the case that is about to call a method in vain."""
        if self.silence:
            pytest.skip(f"the target answers nothing: {self.silence}")
        rpc = method.rpartition("/")[2]
        if self._deaths[method] >= _DEADLY:
            pytest.skip(f"needs {rpc}, and the target died of its last {_DEADLY} calls of it")
        if self._overdue[method] >= _OVERDUE:
            pytest.skip(
                f"needs {rpc}, and the target answered none of its last {_OVERDUE} calls of it "
                "within their deadlines"
            )

    def lost(self) -> Loss | None:
        """What happened to a target that is dead, or answers nothing, and whether it is back; None
        while it serves."""
        if self._gone:
            return self._gone  # it was waited for once
        latest = self.journal.since(self._looked)
        if self.process and any(call.code == Code.UNAVAILABLE for call in latest):
            # Of one that dies the socket may outlive the connections; on a busy machine for long.
            self.process.wait_end(0.2)
            if self.process.running() and self._sign():
                self.process.wait_end(WAKE_S)
        dead = not self._serves()
        if not dead and not self.silence:
            self._looked = self.journal.seq
            return None
        loss = self._died(fatal(latest)) if dead else self._silent(fatal(latest))
        self.silence = "" if loss.revived else loss.reason
        self._gone = None if loss.revived else loss
        self._looked = self.journal.seq
        return loss

    def _serves(self) -> bool:
        ended = self.process is not None and not self.process.running()
        return not ended and all(probe(endpoint) == "live" for endpoint in self._endpoints)

    def _died(self, call: Entry | None) -> Loss:
        method = call.method if call else ""
        self._deaths[method] += 1
        if not self.process:
            return self._waited_for(f"nobody answers at {self._endpoints[0]} any more{_of(call)}")
        self.process.wait_end(1.0)
        status, words = self.process.status(), self.process.last_words()
        cause = f"{method} {status} {self.process.crash()}"
        return self._revived(f"its process ended with {status}{_of(call)}{words}", cause)

    def _silent(self, call: Entry | None) -> Loss:
        reason = f"{self.silence}{_of(call)}"
        if not self.process:
            return self._waited_for(reason)
        if soon(lambda: not self._sign(), WAKE_S):
            return Loss(f"{reason}; it answers again", True, "silence")
        self.process.kill()
        return self._revived(f"{reason}; its process was ended by us", "silence")

    def _waited_for(self, reason: str) -> Loss:
        began = time.monotonic()
        if soon(lambda: self._serves() and not self._sign(), BACK_S):
            return Loss(f"{reason}; it was back {time.monotonic() - began:.0f} s later", True)
        return Loss(f"{reason}, nor within {timeout(BACK_S):g} s", cause="gone")

    def _revived(self, reason: str, cause: str) -> Loss:
        assert self.process is not None
        try:
            return Loss(f"{reason}{self.process.revive()}", True, cause)
        except (Unreachable, BadOption) as error:
            return Loss(f"{reason}\n{error}")


def no_sign(endpoint: Endpoint, ask: Callable[[Channel, float], object]) -> str:
    """Why a server gives no sign of life; empty where it does, if only by a refusal.

    ask: makes the simplest call that there is, within so many seconds.
    """
    with Channel(endpoint) as channel:
        try:
            channel.wait_ready(SIGN_S)
            ask(channel, SIGN_S)
        except Unreachable as error:
            return str(error)
        except Refused as refusal:
            if refusal.code in (Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE):
                return f"{endpoint}: {refusal.message}"
    return ""


def fatal(calls: Sequence[Entry]) -> Entry | None:
    """The call that the target died of, or fell silent over: the first of those at the end that
    got no answer; the last one where all were answered."""
    unanswered = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED)
    answered = [index for index, call in enumerate(calls) if call.code not in unanswered]
    first = answered[-1] + 1 if answered else 0
    return next(iter([*calls[first:], *calls[-1:]]), None)


def _of(call: Entry | None) -> str:
    return f" ({call.rpc})" if call else ""


class Guarded:
    """A channel over which nothing is called in vain; what generated stubs are made over."""

    def __init__(self, channel: Any, life: Life) -> None:
        self._channel, self._life = channel, life

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """The caller of a method, kept back where it would end the target or wait in vain."""
        return self._kept(method, self._channel.unary_unary(method, *args, **kwargs))

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """As `unary_unary`, for a method that streams."""
        return self._kept(method, self._channel.unary_stream(method, *args, **kwargs))

    def _kept(self, method: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(request: Any, **options: Any) -> Any:
            self._life.check(method)
            return call(request, **options)

        return guarded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)
