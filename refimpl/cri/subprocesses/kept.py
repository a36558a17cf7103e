"""A keeper as the runtime sees it: what it starts, signals and tells of ends."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

import attrs

from refimpl.cri.state.ports import StartFailed
from refimpl.cri.subprocesses import keeper

__all__ = ["FIRST", "Keeping", "Kept", "Wanted"]

FIRST = 0
"""The number of the first process of a container."""
_LOST = 137
"""Exit code of a process whose keeper was killed: then it was as well."""
_PIECE = 1 << 12


@attrs.frozen
class Wanted:
    """A process that is to be started. adopt: file of a process id, where the command is the
    launcher of another one."""

    command: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    tty: bool
    adopt: str = ""


class Kept:
    """A process that has been started. report: readable once it has ended."""

    def __init__(self, number: int, report: int) -> None:
        """Raises StartFailed; `report` is closed then."""
        self.number, self.report = number, report
        self._text = b""
        while b"\n" not in self._text and self._read():
            pass
        line, _, self._text = self._text.partition(b"\n")
        told = json.loads(line or b"{}")
        if "pid" not in told:
            os.close(report)
            raise StartFailed(told.get("error", "its keeper was killed"), told.get("code", 128))
        self.pid: int = told["pid"]

    def exit_code(self) -> int:
        """Waits for its end; called once."""
        while self._read():
            pass
        os.close(self.report)
        code: int = json.loads(self._text)["exit"] if self._text else _LOST
        return code

    def _read(self) -> bool:
        piece = os.read(self.report, _PIECE)
        self._text += piece
        return bool(piece)


class Keeping:
    """The keeper of one container."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._numbers, self._lock = itertools.count(FIRST), threading.Lock()
        command = [sys.executable, "-I", "-S", "-X", "utf8", keeper.__file__, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env={},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Of the keeper."""
        return self._process.pid

    def start(self, wanted: Wanted, ends: Sequence[int]) -> Kept:
        """Starts a process, connected to these three; raises StartFailed."""
        report, theirs = os.pipe()
        description = os.memfd_create("wanted")
        try:
            with self._lock:
                number = next(self._numbers)
                os.pwrite(description, json.dumps(attrs.asdict(wanted)).encode(), 0)
                self._send({"start": number}, [description, theirs, *ends])
        finally:
            os.close(theirs)
            os.close(description)
        return Kept(number, report)

    def signal(self, number: int, to: int = FIRST, *, group: bool = False) -> None:
        """Nothing where it has ended. group: to all that it has started, as far as they are in its
        process group."""
        with self._lock:
            self._send({"signal": number, "to": to, "group": group}, [])

    def close(self) -> None:
        """Kills all of them; none is left when it returns. May be called twice."""
        with self._lock:
            self._control.close()
        self._process.wait()

    def _send(self, message: Mapping[str, object], descriptors: Sequence[int]) -> None:
        with suppress(OSError):  # it has ended, or was closed: reports say so
            socket.send_fds(self._control, [json.dumps(message).encode()], descriptors)
