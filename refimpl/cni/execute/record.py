"""What goes into a plugin, what comes out, and the record of both."""

from __future__ import annotations

import base64
import contextlib
import json
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from refimpl.cni import contract
from refimpl.cni.contract import CniError, Kind, Problem, ShapeError, read_error
from refimpl.cni.execute.conditions import PLAIN, Conditions
from refimpl.documents import json as documents
from refimpl.wire.call_log import CallLog

# A document in a report; what is longer helps nobody there.
_SHOWN = 20_000


@attrs.frozen
class Request:
    """The environment, exactly, and stdin, byte for byte."""

    verb: str
    env: Mapping[str, str]
    stdin: bytes

    @classmethod
    def of(
        cls,
        verb: str,
        config: Mapping[str, Any] | bytes,
        *,
        container_id: str = "",
        netns: str = "",
        ifname: str = "",
        args: str = "",
        path: str = "",
        extra: Mapping[str, str] | None = None,
    ) -> Request:
        """A request with the variables that the verb takes (CNI 1.1, "Execution Protocol")."""
        env = contract.variables(
            verb, container_id=container_id, netns=netns, ifname=ifname, args=args, path=path
        )
        stdin = config if isinstance(config, bytes) else documents.dump(dict(config))
        return cls(str(verb), {**env, **(extra or {})}, stdin)

    def with_env(self, **changes: str | None) -> Request:
        """The same request with variables set, or taken out where None."""
        env = {**self.env, **changes}
        return attrs.evolve(
            self, env={key: value for key, value in env.items() if value is not None}
        )

    def with_stdin(self, config: Mapping[str, Any] | bytes) -> Request:
        """The same request with another document."""
        stdin = config if isinstance(config, bytes) else documents.dump(dict(config))
        return attrs.evolve(self, stdin=stdin)


@attrs.frozen
class Ending:
    """The end of an exec in one word, as the records of gRPC calls have a status code."""

    status: int
    timed_out: bool = False

    @property
    def name(self) -> str:
        """`exit 0`, `signal 9`, `no end`."""
        if self.timed_out:
            return "no end"
        return f"exit {self.status}" if self.status >= 0 else f"signal {-self.status}"

    def __bool__(self) -> bool:
        return self.timed_out or self.status != 0


@attrs.frozen
class Outcome:
    """How a plugin ended and what it said.

    status: exit code, negative for a signal. stdout, stderr: the first MiB of each; the counts
    tell how much there was. timed_out: it had to be killed at the deadline. held_open: a process
    it left behind kept a stream open after its end. left: the processes it left behind (killed).
    unread: bytes of stdin that it did not take.
    """

    status: int
    stdout: bytes = b""
    stderr: bytes = b""
    duration_s: float = 0.0
    timed_out: bool = False
    held_open: bool = False
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    left: tuple[str, ...] = ()
    unread: int = 0

    @property
    def ending(self) -> Ending:
        """Exit code, signal or deadline as one value; true when it was no success."""
        return Ending(self.status, self.timed_out)

    @property
    def ok(self) -> bool:
        """Whether the plugin claims success: exit code 0 in time."""
        return not self.ending

    @property
    def document(self) -> Any:
        """stdout as one JSON value, None when it is empty; raises ShapeError for anything else."""
        if not self.stdout.strip():
            return None
        try:
            return documents.parse(self.stdout, name="stdout").value
        except documents.DocumentError as error:
            raise ShapeError("stdout", [Problem("", str(error), Kind.FORMAT)]) from error

    @property
    def error(self) -> CniError | None:
        """The error object on stdout, None where there is none that could be understood."""
        try:
            return read_error(self.document)
        except ShapeError:
            return None

    def brief(self) -> str:
        """One line for a finding: how it ended and what it printed."""
        words = [
            f"{name} {text(data)}{f' (of {count} bytes)' if count > len(data) else ''}"
            for name, data, count in self._streams()
            if data.strip()
        ]
        held = ["a stream stayed open"] if self.held_open else []
        return ", ".join([self.ending.name, *words, *held])

    def _streams(self) -> tuple[tuple[str, bytes, int], ...]:
        return (
            ("stdout", self.stdout, self.stdout_bytes),
            ("stderr", self.stderr, self.stderr_bytes),
        )


@attrs.define(kw_only=True)
class Exec:
    """The record of one exec. netns: whether there was something at CNI_NETNS."""

    plugin: str
    request: Request
    outcome: Outcome
    netns: bool = False
    conditions: Conditions = PLAIN
    seq: int = 0
    time: float = 0.0

    @property
    def rpc(self) -> str:
        """`bridge ADD`: what reports call it by."""
        return f"{Path(self.plugin).name} {self.request.verb or '(no verb)'}"

    @property
    def code(self) -> Ending:
        """How it ended; true when it failed."""
        return self.outcome.ending

    def to_dict(self) -> dict[str, Any]:
        """The record under the keys that a gRPC call has in a journal."""
        outcome = self.outcome
        error = outcome.error if self.code else None
        words = error.msg if error else text(outcome.stderr) if self.code else ""
        return {
            "seq": self.seq,
            "time": self.time,
            "side": "client",
            "method": self.rpc,
            "peer": self.plugin,
            "env": dict(self.request.env),
            "netns": self.netns,
            "conditions": self.conditions.odd(),
            "requests": [readable(self.request.stdin)],
            **_exact(self.request.stdin),
            "replies": [readable(outcome.stdout)] if outcome.stdout.strip() else [],
            "code": f"{outcome.ending.name}, code {error.code}" if error else outcome.ending.name,
            "message": words,
            "stderr": text(outcome.stderr),
            "duration_s": outcome.duration_s,
        }

    def shell(self) -> str:
        """The line that repeats it: the document, `env -i` with the variables, the plugin."""
        words = [f"{key}={value}" for key, value in self.request.env.items()]
        line = shlex.join(["env", "-i", *words, self.plugin])
        stdin = self.request.stdin
        if len(stdin) > _SHOWN:
            return f"{line} < {len(stdin)}-bytes-of-stdin"
        return f"printf {_quoted(stdin)} | {line}"


class Log(CallLog[Exec]):
    """The execs of one run, oldest first; safe to use from any thread."""

    def note(self, plugin: str, request: Request, outcome: Outcome, **circumstances: Any) -> Exec:
        """Records one exec and numbers it. circumstances: its `netns` and `conditions`."""
        return self.add(
            Exec(plugin=plugin, request=request, outcome=outcome, time=time.time(), **circumstances)
        )


def text(data: bytes, most: int = 300) -> str:
    """Bytes of a stream on one line."""
    line = " ".join(data[: most * 4].decode(errors="backslashreplace").split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def readable(data: bytes) -> Any:
    """A document as JSON value for a report; as text where it is none, or is too long."""
    if len(data) <= _SHOWN:
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(data)
    return text(data)


def _exact(data: bytes) -> dict[str, Any]:
    """What the document on record does not tell: stdin that it is not made of byte for byte."""
    if len(data) > _SHOWN:
        return {"stdin_left_out": len(data)}
    with contextlib.suppress(ValueError, RecursionError):
        if json.dumps(json.loads(data), separators=(",", ":")).encode() == data:
            return {}
    try:
        return {"stdin": data.decode()}
    except UnicodeDecodeError:
        return {"stdin": {"bytes": base64.b64encode(data).decode()}}


def _quoted(data: bytes) -> str:
    """What printf makes these bytes of."""
    try:
        return f"%s {shlex.quote(data.decode())}"
    except UnicodeDecodeError:
        return "'" + "".join(f"\\{byte:03o}" for byte in data) + "'"
