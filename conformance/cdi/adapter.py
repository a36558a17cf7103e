"""A library behind an adapter: a child process that answers lines of JSON on stdin and stdout.

`{"act": "load", "cache": 1}` is answered by `{"devices": [...], "errors": {}}`; see implementation.
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
from typing import IO

from conformance.cdi.implementation import EVERY, Gone, Message, resident, spoken
from conformance.engine.options import BadOption
from conformance.engine.target import Loss
from conformance.engine.verdict import timeout
from refimpl.wire.client import Unreachable

# For one act, s; the largest load of the suite included.
ANSWER_S = 60.0
_STDERR_SHOWN = 300


class Adapter:
    """Starts the command at once, and again when it died. Raises BadOption, Unreachable."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self.name, self.version = Path(command[0]).name, ""
        self.features: frozenset[str] = frozenset()
        self._died = ""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as we do
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._introduce()
        except BaseException:
            self.close()
            raise

    def answer(self, act: str, request: Message) -> Message:
        """See Implementation."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        line = json.dumps({"act": act, **request}, ensure_ascii=False)
        try:
            process.stdin.write(line.encode(errors="surrogateescape") + b"\n")
            process.stdin.flush()
            reply = json.loads(self._line(process.stdout))
        except (OSError, ValueError) as error:
            self._died = self._last_words(error)
            raise Gone(self._died) from error
        if not isinstance(reply, dict):
            raise Gone(f"it answered {reply!r}, which is no object")
        return reply

    def resident(self) -> int:
        """See Implementation."""
        return resident(self._process.pid) if self._process else 0

    def lost(self) -> Loss | None:
        """See Target."""
        died, self._died = self._died, ""
        return Loss(died, revived=True) if died else None

    def repeat(self, opened: Message | None, act: str, request: Message) -> str:
        """The shell line that says the same to the adapter."""
        return spoken(self.command, opened, act, request)

    def close(self) -> None:
        """See Implementation."""
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

    def _introduce(self) -> None:
        try:
            told = self.answer("hello", {})
        except Gone as error:
            raise Unreachable(f"{shlex.join(self.command)}: no answer to hello: {error}") from error
        self.name = str(told.get("name") or self.name)
        self.version = str(told.get("version") or "")
        self.features = frozenset(told.get("features") or ())
        if strange := self.features - EVERY:
            raise BadOption(
                f"{self.name}: feature {', '.join(sorted(strange))}: there are {sorted(EVERY)}"
            )

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            try:
                self._process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                )
            except OSError as error:
                raise BadOption(f"{self.command[0]}: {error.strerror}") from error
        return self._process

    def _line(self, stream: IO[bytes]) -> bytes:
        """One line in time, empty at the end of the stream; an adapter says one line an act."""
        ready, _, _ = select.select([stream], [], [], timeout(ANSWER_S))
        if not ready:
            raise TimeoutError(f"no answer within {timeout(ANSWER_S):g} s")
        return stream.readline()

    def _last_words(self, error: Exception) -> str:
        process, self._process = self._process, None
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout(1))  # one that died of itself tells its own exit code
        process.kill()
        process.communicate()
        self._stderr.seek(0)
        said = " ".join(self._stderr.read().decode(errors="replace").split())
        self._stderr.truncate(0)
        return f"exit {process.returncode}; {said[:_STDERR_SHOWN] or error}"
