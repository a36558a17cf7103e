"""An implementation of CDI as the suite sees it: it answers JSON objects with JSON objects.

| act      | asked                                             | answered                    |
|----------|---------------------------------------------------|-----------------------------|
| hello    |                                                   | name, version, features     |
| open     | cache (a number of ours), directories, watched    |                             |
| load     | cache                                             | devices, errors             |
| inject   | cache, config, devices                            | config                      |
| create   | cache, config, devices, annotations               | config                      |
| minimum  | document                                          | version                     |
| write    | document, path                                    |                             |
| annotate | annotations, plugin, device_id, devices           | annotations                 |
| parse    | annotations                                       | devices                     |
| close    | cache                                             |                             |

`load` looks at the files as they are now; `devices` are the qualified names that can be requested,
`errors` maps the path of a file or directory to texts. What fails is answered with `error`, a
text; of `inject` also `unresolved`, the names, and `config`, what has become of it. An
implementation has the acts that its features (below) name.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from typing import Any, Protocol

import attrs

from conformance.engine.targets.lines import Gone, Message
from conformance.engine.targets.target import Loss
from refimpl.wire.call_log import CallLog

LOAD = "load"
"""Tells which devices there are and what is wrong with which file."""
INJECT = "inject"
CONFIG = "config"
"""Injects into any config, and tells what became of it when it fails."""
REQUEST = "request"
"""Injects the devices of a request in its order, a repeated or unknown name included."""
DIRECTORIES = "directories"
"""Reads any number of directories, whatever there is in their place."""
WATCH = "watch"
"""A cache lives on between two acts; one that is `watched` notices changes by itself."""
MINIMUM = "minimum"
WRITE = "write"
ANNOTATIONS = "annotations"
"""Makes and reads the annotations that request devices (annotate, parse)."""
RUNTIME = "runtime"
"""Makes containers with what a request and its annotations ask for (create)."""

EVERY = frozenset(
    {LOAD, INJECT, CONFIG, REQUEST, DIRECTORIES, WATCH, MINIMUM, WRITE, ANNOTATIONS, RUNTIME}
)

# A document in a report; what is longer helps nobody there.
_SHOWN = 20_000


class Implementation(Protocol):
    """What answers."""

    name: str
    version: str
    features: frozenset[str]

    def answer(self, act: str, request: Message) -> Message:
        """The reply to one act; raises Gone."""

    def resident(self) -> int:
        """How much memory it takes now, in bytes; 0 where that cannot be seen."""

    def lost(self) -> Loss | None:
        """How it died since the last look, None where it did not."""

    def repeat(self, opened: Message | None, act: str, request: Message, /) -> str:
        """One shell line that does the act without us, in a cache that was opened like that."""

    def close(self) -> None:
        """Ends it."""


@attrs.frozen
class ActEnding:
    """How an act ended, in a word; true when it failed."""

    name: str

    def __bool__(self) -> bool:
        return self.name != "ok"


@attrs.define
class Act:
    """The record of one act."""

    seq: int
    time: float
    act: str
    request: Message
    reply: Message
    duration_s: float
    peer: str

    @property
    def rpc(self) -> str:
        """The act."""
        return self.act

    @property
    def code(self) -> ActEnding:
        """How it ended."""
        return ActEnding("error" if "error" in self.reply else "ok")

    def to_dict(self) -> dict[str, Any]:
        """JSON values under the keys of a journal line; documents that are long are cut."""
        return {
            "seq": self.seq,
            "time": self.time,
            "side": "client",
            "method": self.act,
            "peer": self.peer,
            "requests": [_shown(self.request)],
            "replies": [_shown(self.reply)],
            "code": self.code.name,
            "message": str(self.reply.get("error", "")),
            "duration_s": self.duration_s,
        }


class Recorded:
    """Asks an implementation; `log` keeps what was said. From any thread."""

    def __init__(self, implementation: Implementation) -> None:
        self.implementation = implementation
        self.log: CallLog[Act] = CallLog()

    def ask(self, act: str, request: Message) -> Message:
        """The reply, which has `error` where the act failed or the implementation died."""
        at, began = time.time(), time.monotonic()
        try:
            reply = self.implementation.answer(act, request)
        except Gone as error:
            reply = {"error": f"it died: {error}"}
        if act != "close" or "error" in reply:  # else it would be the last act of every finding
            self.note(act, request, reply, at, time.monotonic() - began)
        return reply

    def note(
        self, act: str, request: Message, reply: Message, at: float = 0.0, took: float = 0.0
    ) -> None:
        """Keeps something that was done beside the implementation, such as a file written."""
        name = self.implementation.name
        self.log.add(Act(0, at or time.time(), act, request, reply, took, name))


def spoken(command: Sequence[str], opened: Message | None, act: str, request: Message) -> str:
    """The shell line that says an act to an adapter."""
    acts = [("open", opened)] if opened and act != "open" else []
    lines = [json.dumps({"act": name, **message}) for name, message in (*acts, (act, request))]
    return f"printf '%s\\n' {shlex.join(lines)} | {shlex.join(command)}"


def _shown(message: Message) -> Any:
    text = json.dumps(message)
    return message if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
