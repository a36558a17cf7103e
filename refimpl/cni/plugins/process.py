"""A plugin as a process: what only a process can do, well or badly.

The environment is read from /proc as it was given: the interpreter adds to it when the locale is C,
and a delegate has to get exactly what its caller got.
"""

from __future__ import annotations

import os
import sys

from refimpl.cni.format.errors import IO, CniError
from refimpl.cni.format.versions import VERSIONS
from refimpl.cni.plugins import entry, faults
from refimpl.cni.plugins.json import dumps, parse_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from refimpl.cni.plugins.request import Executed

__all__ = ["run"]

_SIGKILL = 9
_FOREVER_S = 86_400.0


def run() -> NoReturn:
    """Answers the call that this process was started for, and ends it."""
    _keep_streams()
    path = sys.argv[0]
    try:
        settings = _settings(path + ".settings.json")
    except CniError as failure:
        _write(1, dumps(failure.to_dict(VERSIONS[-1])) + b"\n")
        os._exit(1)
    environ = _environ(settings)
    knobs = faults.chosen(settings, environ)
    stdin = _stdin(knobs)
    kind = settings["kind"]
    found = entry.main(
        kind, environ, stdin, settings, process=Process(), knobs=knobs, exec_delegate=None
    )
    if found[0] < 0:
        os.kill(os.getpid(), -found[0])
    _last_faults(knobs)
    wrote = _write(2, found[2]) and _write(1, found[1])
    status = found[0] if wrote else _unwritten(kind, environ, stdin, settings, found)
    os._exit(status)


class Process:
    """What a call may do to the process it runs in."""

    def die(self) -> None:
        """Ends it at once, with no chance to tidy up."""
        os.kill(os.getpid(), _SIGKILL)

    def pause(self, seconds: float) -> None:
        """Keeps it from answering."""
        import time

        time.sleep(float(seconds))  # a fraction in the settings is a Number


def _keep_streams() -> None:
    """A closed stream must not become the first file that is opened, which would then get what is
    meant for the stream."""
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # Wrong mode on purpose for 0 and 1: reading and answering have to fail.
            file = os.open("/dev/null", mode)
            if file != number:
                os.dup2(file, number)
                os.close(file)


def _settings(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return parse_object(file.read())
    except (OSError, ValueError) as error:
        raise CniError(
            IO, f"the settings {path} cannot be read ({error}); install the plugin again"
        ) from None


def _environ(settings: dict[str, Any]) -> dict[str, str]:
    try:
        with open("/proc/self/environ", "rb") as file:
            items = file.read().split(b"\0")
    except OSError:
        return dict(os.environ)
    texts = [item.decode("utf-8", "surrogateescape") for item in items if b"=" in item]
    found: dict[str, str] = {}
    for text in texts:
        key, _, value = text.partition("=")
        found.setdefault(key, value)  # as getenv(3): the first of two counts
    if len(found) != len(texts):
        settings["env_list"] = texts
    return found


def _stdin(knobs: dict[str, dict[str, Any]]) -> bytes | None:
    if "close-stdin" in knobs:
        os.close(0)
        os.open("/dev/null", os.O_RDONLY)
        return b""
    if "hang" in knobs and knobs["hang"].get("unread"):
        Process().pause(knobs["hang"].get("seconds", _FOREVER_S))
    size, pause = 1 << 20, 0.0
    if "slow-stdin" in knobs:
        size = int(knobs["slow-stdin"].get("bytes", 1))
        pause = float(knobs["slow-stdin"].get("seconds", 0.001))
    pieces = []
    try:
        while piece := os.read(0, size):
            pieces.append(piece)
            if pause:
                Process().pause(pause)
    except OSError:
        return None
    return b"".join(pieces)


def _last_faults(knobs: dict[str, dict[str, Any]]) -> None:
    if (fault := knobs.get("hold-stdout")) and os.fork() == 0:
        if fault.get("detach"):
            os.setsid()
        Process().pause(fault.get("seconds", 60.0))
        os._exit(0)
    if fault := knobs.get("flood"):
        left, piece = int(fault.get("bytes", 1 << 30)), b"." * (1 << 16)
        number = 2 if fault.get("stream") == "stderr" else 1
        while left > 0 and _write(number, piece[:left]):
            left -= len(piece)


def _write(number: int, data: bytes) -> bool:
    """Whether everything was written; a closed stderr (2) is nobody's trouble."""
    try:
        while data:
            data = data[os.write(number, data) :]
    except OSError:
        return number == 2
    return True


def _unwritten(
    kind: str,
    environ: Mapping[str, str],
    stdin: bytes | None,
    settings: dict[str, Any],
    found: Executed,
) -> int:
    """Nobody got the answer: what an ADD made is undone, since its result is lost."""
    if environ.get("CNI_COMMAND") == "ADD" and found[0] == 0 and kind != "recorder":
        undo = {**environ, "CNI_COMMAND": "DEL"}
        entry.main(kind, undo, stdin, settings, process=Process(), knobs={})
    _write(2, b"stdout cannot be written; the answer is lost\n")
    return found[0] or 1
