"""A plugin as a process: from its streams and its environment to its exit status.

The environment is read from /proc as it was given: the interpreter adds to it when the locale is C,
and a delegate has to get exactly what its caller got.
"""

from __future__ import annotations

import os
import sys

from refimpl.cni.format.errors import IO, CniError
from refimpl.cni.format.files import content
from refimpl.cni.format.versions import VERSIONS
from refimpl.cni.plugins import entry, faults
from refimpl.cni.plugins.json import dumps, parse_object
from refimpl.cni.plugins.stdio import Process, read_stdin, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from refimpl.cni.plugins.call import Executed

__all__ = ["run"]


def run() -> NoReturn:
    """Answers the call that this process was started for, and ends it."""
    _keep_streams()
    path = sys.argv[0]
    try:
        settings = _settings(path + ".settings.json")
    except CniError as failure:
        write(1, dumps(failure.to_dict(VERSIONS[-1])) + b"\n")
        os._exit(1)
    environ = _environ(settings)
    knobs = faults.chosen(settings, environ)
    if knobs:
        from refimpl.cni.plugins.breaches import streams

        stdin = streams.read(knobs)
    else:
        stdin = read_stdin()
    kind = settings["kind"]
    executed = entry.main(kind, environ, stdin, settings, process=Process(), knobs=knobs)
    if executed[0] < 0:
        os.kill(os.getpid(), -executed[0])
    if knobs:
        streams.hold_and_flood(knobs)
    wrote = write(2, executed[2]) and write(1, executed[1])
    os._exit(executed[0] if wrote else _unwritten(kind, environ, stdin, settings, executed))


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
        return parse_object(content(path))
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
    environ: dict[str, str] = {}
    for text in texts:
        key, _, value = text.partition("=")
        environ.setdefault(key, value)  # as getenv(3): the first of two counts
    if len(environ) != len(texts):
        settings["env_list"] = texts
    return environ


def _unwritten(
    kind: str,
    environ: Mapping[str, str],
    stdin: bytes | None,
    settings: dict[str, Any],
    executed: Executed,
) -> int:
    """Nobody got the answer: what an ADD made is undone, since its result is lost."""
    if environ.get("CNI_COMMAND") == "ADD" and executed[0] == 0 and kind != "recorder":
        undo = {**environ, "CNI_COMMAND": "DEL"}
        entry.main(kind, undo, stdin, settings, process=Process(), knobs={})
    write(2, b"stdout cannot be written; the answer is lost\n")
    return executed[0] or 1
