"""What is under test behind an adapter: a child process that answers lines of JSON.

`{"act": "load", "cache": 1}` on its stdin is answered by one object, on its stdout, on one line.
"""

from __future__ import annotations

import contextlib
import json
import select
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from conformance.engine.options import BadOption
from conformance.engine.targets.tie import tie
from conformance.engine.verdict import timeout
from refimpl.wire.client import Unreachable

__all__ = ["ANSWER_S", "Gone", "Lines", "Message"]

# For one act, s; the largest of a suite included.
ANSWER_S = 60.0
_STDERR_SHOWN = 300

Message = dict[str, Any]


class Gone(Exception):
    """What is under test died over an act; the text says how."""


class Lines:
    """One process of the command, started at its first act, and again after it died.

    `died` says how it last did, until it is cleared.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self.died = ""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as we do
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Of the process; None while there is none."""
        return self._process.pid if self._process else None

    def hello(self) -> Message:
        """What it says of itself: name, version and more. Raises BadOption, Unreachable."""
        try:
            answer = self.answer("hello", {})
        except Gone as error:
            raise Unreachable(f"{shlex.join(self.command)}: no answer to hello: {error}") from error
        return {"name": Path(self.command[0]).name, "version": "", **answer}

    def answer(self, act: str, request: Message) -> Message:
        """The reply to one act; raises Gone, BadOption where there is no such program."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        line = json.dumps({"act": act, **request}, ensure_ascii=False)
        try:
            process.stdin.write(line.encode(errors="surrogateescape") + b"\n")
            process.stdin.flush()
            reply = json.loads(_line(process.stdout))
        except (OSError, ValueError) as error:
            self.died = self._last_words(error)
            raise Gone(self.died) from error
        if not isinstance(reply, dict):
            raise Gone(f"it answered {reply!r}, which is no object")
        return reply

    def close(self) -> None:
        """Ends it, and nothing else can be asked."""
        self._end()
        self._stderr.close()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate(timeout=timeout(5))  # the end of stdin is the end of an adapter
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.communicate()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            try:
                self._process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    preexec_fn=tie(),
                )
            except OSError as error:
                raise BadOption(f"{self.command[0]}: {error.strerror}") from error
        return self._process

    def _last_words(self, error: Exception) -> str:
        process, self._process = self._process, None
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout(1))  # one that died of itself tells its own exit code
        process.kill()
        process.communicate()
        self._stderr.seek(0)
        stderr = " ".join(self._stderr.read().decode(errors="replace").split())
        self._stderr.truncate(0)
        return f"exit {process.returncode}; {stderr[:_STDERR_SHOWN] or error}"


def _line(stream: IO[bytes]) -> bytes:
    """One line in time, empty at the end of the stream; an adapter says one line an act."""
    ready, _, _ = select.select([stream], [], [], timeout(ANSWER_S))
    if not ready:
        raise TimeoutError(f"no answer within {timeout(ANSWER_S):g} s")
    return stream.readline()
