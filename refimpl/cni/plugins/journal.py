"""The record of every call: JSON lines that many processes append to, under flock.

A call writes one line when it begins and one when it ends, so that a call that was killed or hangs
is seen too; `records` puts the two together.
"""

from __future__ import annotations

import os
import time

from refimpl.cni.plugins.json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["begin", "end", "records"]

# Neither through a link nor waiting for a reader, where somebody has put a pipe.
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def begin(settings: dict[str, Any], environ: Mapping[str, str], stdin: bytes) -> str:
    """Writes the first line of a call and returns its id; "" when no journal is wanted."""
    path = settings.get("journal")
    if not path:
        return ""
    start = time.monotonic_ns()
    call = f"{os.getpid()}.{start}.{os.urandom(4).hex()}"
    line = {
        "call": call,
        "plugin": settings.get("name", ""),
        "kind": settings.get("kind", ""),
        "verb": environ.get("CNI_COMMAND", ""),
        "env": dict(environ),
        "stdin": _base64(stdin),
        "time_ns": time.time_ns(),
        "start_ns": start,
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "netns_inode": inode(environ.get("CNI_NETNS", "")),
        "own_inode": inode("/proc/self/ns/net"),
    }
    if settings.get("env_list"):
        line["env_list"] = settings["env_list"]
    append(path, line)
    return call


def end(
    settings: dict[str, Any], call: str, answer: tuple[int, bytes, bytes], faults: list[str]
) -> None:
    """Writes the second line: how the call ended (at most 1 MiB of each stream)."""
    if call:
        status, out, err = answer
        about = {"status": status, "stdout": _base64(out), "stderr": _base64(err)}
        append(
            settings["journal"],
            {"call": call, "end_ns": time.monotonic_ns(), "faults": faults, **about},
        )


def append(path: str, line: dict[str, Any]) -> None:
    """One line at the end of a file (0600), alone under its lock. Raises OSError."""
    import fcntl

    file = os.open(path, _APPEND, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        data = dumps(line) + b"\n"
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)


def records(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The calls of a journal in the order they began, each with bytes for `stdin`, `stdout` and
    `stderr`. A call that did not end has status, end_ns and the streams None. A missing file holds
    no calls; the times are monotonic nanoseconds, but `time_ns` counts since 1970."""
    calls: dict[str, dict[str, Any]] = {}
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        read = _read(line)
        ended: dict[str, Any] = {
            "status": None,
            "end_ns": None,
            "stdout": None,
            "stderr": None,
            "faults": [],
        }
        calls.setdefault(read["call"], ended).update(read)
    return sorted(calls.values(), key=lambda entry: int(entry["start_ns"]))


def _read(line: bytes) -> dict[str, Any]:
    import binascii

    read: dict[str, Any] = loads(line)
    for key in ("stdin", "stdout", "stderr"):
        if key in read:
            read[key] = binascii.a2b_base64(read[key])
    return read


def inode(path: str) -> int | None:
    """The inode that a namespace's path leads to: its identity. None when it leads nowhere."""
    try:
        return os.stat(path).st_ino
    except (OSError, ValueError):
        return None


def _base64(data: bytes) -> str:
    import binascii

    return binascii.b2a_base64(data[: 1 << 20], newline=False).decode()
