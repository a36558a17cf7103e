"""A call of the journal as reports show it: what was asked, how it ended, how long it took."""

from __future__ import annotations

from typing import Any

import attrs

from conformance.engine.events import CaseDone
from conformance.engine.reports.repeats import CALLS_SHOWN
from conformance.engine.reports.text import count, duration, one_line, sketch


@attrs.frozen
class Call:
    """One line of what led to a finding. `request` and `reply` hold JSON values, None for none."""

    rpc: str
    code: str
    message: str
    request: Any
    reply: Any
    took: str
    fault: str

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Call:
        """Reads a journal entry; fields may be missing (a passed case keeps rpc and code only)."""
        seconds = entry.get("duration_s")
        return cls(
            rpc=str(entry.get("rpc") or str(entry.get("method", "?")).rpartition("/")[2]),
            code=str(entry.get("code", "?")),
            message=str(entry.get("message") or ""),
            request=_only(entry.get("requests")),
            reply=_only(entry.get("replies")),
            took=duration(seconds) if isinstance(seconds, int | float) else "",
            fault=str(entry.get("fault") or ""),
        )

    @classmethod
    def last(cls, done: CaseDone) -> list[Call]:
        """The last calls of a finding; those before them are in the stream alone."""
        return [cls.of(entry) for entry in done.calls[-CALLS_SHOWN:]]

    @staticmethod
    def earlier(done: CaseDone) -> str:
        """What is said of the calls before the last ones; empty where there are none. A breach that
        was found together with others may be about one of them."""
        left = len(done.calls) - CALLS_SHOWN
        return f"{count(left, 'call')} before these, see events.jsonl" if left > 0 else ""

    def line(self, width: int) -> str:
        """The call on one line of at most `width` characters, the status and message first kept."""
        took = f" ({self.took})" if self.took else ""
        room = max(width - len(f"{self.rpc}() -> {took}"), 24)
        request = "" if self.request is None else sketch(self.request, room)
        reply = self._told(max(room - len(request), room * 2 // 3))
        if len(request) + len(reply) > room:
            request = sketch(self.request, room - len(reply))
        return one_line(f"{self.rpc}({request}) -> {reply}{took}", width)

    def _told(self, width: int) -> str:
        fault = f" [fault {self.fault}]" if self.fault else ""
        if self.message:
            return one_line(f"{self.code}: {self.message}{fault}", width)
        head = f"{self.code}{fault}"
        shown = "" if self.reply is None else sketch(self.reply, width - len(head) - 1)
        return one_line(f"{head} {shown}", width)


def _only(messages: Any) -> Any:
    """The message of a unary call itself, the list of a stream's, None where there is none."""
    if isinstance(messages, list | tuple):
        return (messages[0] if len(messages) == 1 else list(messages)) if messages else None
    return messages
