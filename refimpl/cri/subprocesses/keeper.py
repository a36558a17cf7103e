"""The keeper of one container: parent of its processes, heir of its orphans, and their end.

A program of its own, of the standard library alone: `keeper.py DESCRIPTOR`, a connection to the
runtime. When that ends, however the runtime did, or the first process does, all of them are killed,
wherever they went. Messages are JSON:

    {"start": NUMBER} with descriptors: what to start (JSON: command, env, cwd, tty, adopt),
        report, stdin, stdout, stderr
    {"signal": SIGNAL, "to": NUMBER, "group": whether to its whole process group}

Where `adopt` names a file, the command is a launcher: once it has ended well, the process whose id
is in the file is the one that was wanted, and a child of the keeper by then.

A report is lines of JSON: {"pid": ...} or {"error": ..., "code": ...}, then {"exit": ...}.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import sys
import termios
from typing import Any

_PDEATHSIG, _SUBREAPER = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, linux/prctl.h
_DESCRIPTORS = 5
_LONGEST = 1 << 12
_MISSING = 2  # ENOENT
_CODE_MISSING, _CODE_OTHER = 127, 128
_ROUND_S = 0.002
_libc = ctypes.CDLL(None, use_errno=True)


class Keeper:
    """Processes by the number that the runtime gives them; 0 is the first one of the container."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._pids: dict[int, int] = {}
        self._reports: dict[int, int] = {}
        self._launchers: dict[int, tuple[int, int, str]] = {}
        self._early: dict[int, int] = {}
        self._first = 0
        self._status: int | None = None

    def keep(self) -> None:
        """Until the first process has ended, or the runtime has."""
        woken, wake = os.pipe()
        for end in (woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while self._status is None:
            ready, _, _ = select.select([self._control.fileno(), woken], [], [])
            if woken in ready:
                os.read(woken, _LONGEST)
                self._reap()
            elif not self._obey():
                break
        self._end_all()

    def _obey(self) -> bool:
        """One message; False at the end of them."""
        text, descriptors, _, _ = socket.recv_fds(self._control, _LONGEST, _DESCRIPTORS)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # MSG_CMSG_CLOEXEC is lost in recv_fds of 3.11
        if not text:
            return False
        message = json.loads(text)
        if "start" in message:
            self._start(message["start"], *descriptors)
        elif message["to"] in self._pids:
            _kill(self._pids[message["to"]], message["signal"], group=message["group"])
        return True

    def _start(self, number: int, wanted: int, report: int, *ends: int) -> None:
        with os.fdopen(wanted, "rb") as file:
            told = json.load(file)
        pid, failure = _spawn(told, ends)
        for end in ends:
            os.close(end)
        if failure:
            _tell(report, failure)
            os.close(report)
            return
        if told["adopt"]:
            self._launchers[pid] = number, report, told["adopt"]
        else:
            self._know(number, pid, report)

    def _know(self, number: int, pid: int, report: int) -> None:
        self._pids[number], self._reports[pid] = pid, report
        self._first = self._first or pid
        _tell(report, {"pid": pid})
        if pid in self._early:  # it ended before its launcher did
            self._ended(pid, self._early.pop(pid))

    def _launched(self, launcher: int, status: int) -> None:
        number, report, file = self._launchers.pop(launcher)
        try:
            with open(file) as text:
                pid = int(text.read()) if not status else 0
        except (OSError, ValueError):
            pid = 0
        if pid:
            self._know(number, pid, report)
        else:
            _tell(report, {"error": "", "code": _CODE_OTHER})
            os.close(report)

    def _reap(self) -> bool:
        """Takes note of all that have ended; False once there is no child any more."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            self._ended(pid, status)

    def _ended(self, pid: int, status: int) -> None:
        self._pids = {number: each for number, each in self._pids.items() if each != pid}
        if pid in self._launchers:
            self._launched(pid, status)
        elif pid == self._first:
            self._status = status
        elif pid in self._reports:
            self._over(pid, status)
        elif self._launchers:
            self._early[pid] = status

    def _over(self, pid: int, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        report = self._reports.pop(pid)
        _tell(report, {"exit": code if code >= 0 else 128 - code})
        os.close(report)

    def _end_all(self) -> None:
        """Orphans become children of ours as their parents go, so it takes as many rounds."""
        while self._reap():
            left = _children()
            if left and not sum(_kill(pid, signal.SIGKILL) for pid in left):
                break
            select.select([], [], [], _ROUND_S)
        if self._status is not None:
            self._over(self._first, self._status)


def _children() -> list[int]:
    """Ours, by /proc: none of them is gone before we wait for it."""
    ours, everyone = os.getpid(), map(int, filter(str.isdecimal, os.listdir("/proc")))
    return [pid for pid in everyone if _parent(pid) == ours]


def _kill(pid: int, number: int, *, group: bool = False) -> bool:
    """False where we may not, as of a program that has become another user's."""
    try:
        (os.killpg if group else os.kill)(pid, number)
    except OSError:
        return False
    return True


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _tell(report: int, what: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # nobody wants to know any more
        os.write(report, json.dumps(what).encode() + b"\n")


def _spawn(told: dict[str, Any], ends: tuple[int, ...]) -> tuple[int, dict[str, Any]]:
    """The pid, and why there is none; what it was connected to stays open."""
    failed, failing = os.pipe()
    keeper, pid = os.getpid(), os.fork()
    if not pid:
        try:
            _become(told, ends, keeper)
        except (OSError, ValueError) as error:
            _tell(failing, _failure(told, error))
        finally:
            os._exit(_CODE_OTHER)
    os.close(failing)
    with os.fdopen(failed, "rb") as file:
        text = file.read()
    if text:
        os.waitpid(pid, 0)
    return pid, json.loads(text) if text else {}


def _become(told: dict[str, Any], ends: tuple[int, ...], keeper: int) -> None:
    """This process becomes the one that is asked for, in a session of its own."""
    os.setsid()
    _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != keeper:  # it died before the kernel was told
        return
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    for descriptor, end in enumerate(ends):
        os.dup2(end, descriptor)
    if told["tty"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.umask(0o022)
    os.chdir(told["cwd"])
    os.execvpe(told["command"][0], told["command"], told["env"])


def _failure(told: dict[str, Any], error: Exception) -> dict[str, Any]:
    if not isinstance(error, OSError):
        return {"error": f"exec: {told['command'][0]!r}: {error}", "code": _CODE_OTHER}
    where = told["cwd"] if error.filename == told["cwd"] else told["command"][0]
    act = "chdir" if error.filename == told["cwd"] else "exec"
    code = _CODE_MISSING if act == "exec" and error.errno == _MISSING else _CODE_OTHER
    return {"error": f"{act}: {where!r}: {os.strerror(error.errno or 0).lower()}", "code": code}


def main() -> None:
    """Keeps until the end."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    Keeper(control).keep()


if __name__ == "__main__":
    main()
