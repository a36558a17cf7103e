"""Execs of CNI plugins in namespaces of their own: util-linux is all it takes."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.engine.replay.player.playing import Answer, Call, Names, fresh, play, tell

NETNS = "/run/netns/"


def enter() -> None:
    """Starts this script anew inside namespaces of its own, as root of them."""
    root = ["-m", "-n"] if os.geteuid() == 0 else ["-U", "-r", "-m", "-n"]
    os.environ["REPLAY_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", *root, sys.executable, *sys.argv])


def cover() -> None:
    """Hides the machine's own state, and brings the loopback link up."""
    for path in ("/run", "/var/lib/cni"):
        if os.path.isdir(path):
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", path], check=True)
    os.mkdir(NETNS)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def namespace(path: str, there: bool) -> None:
    """Makes the namespace at a path, or takes it away, as it was then."""
    if path.startswith(NETNS) and there and not os.path.exists(path):
        open(path, "wb").close()
        subprocess.run(["unshare", f"--net={path}", "true"], check=True)
    elif path.startswith(NETNS) and not there and os.path.exists(path):
        subprocess.run(["umount", path], check=False)
        os.unlink(path)


def ask(call: Call, request: Any) -> Answer:
    """How the plugin ends, in words, and what it prints."""
    namespace(request["env"].get("CNI_NETNS", ""), call["netns"])
    conditions = call["conditions"]
    with contextlib.ExitStack() as stack:
        process = subprocess.Popen(
            [call["plugin"]],
            stdin=subprocess.PIPE,
            stdout=opened(conditions.get("stdout", "pipe"), stack),
            stderr=subprocess.PIPE,
            env=request["env"],
            cwd=folder(conditions, stack),
            umask=conditions.get("umask", 0o022),
            start_new_session=True,
        )
        limit = conditions.get("kill_after_s", 60.0)
        try:
            out, err = process.communicate(document(request), timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
    return ended(process.returncode, out or b"", err)


def document(request: Any) -> bytes:
    """What goes to stdin: the document on record, or the bytes where its form mattered."""
    exact = request["stdin"]
    if exact is None:
        return json.dumps(request["document"], separators=(",", ":")).encode()
    return base64.b64decode(exact["bytes"]) if isinstance(exact, dict) else exact.encode()


def folder(conditions: Mapping[str, Any], stack: contextlib.ExitStack) -> str:
    """The working directory of a plugin: the root, or one that is no longer there."""
    if not conditions.get("gone"):
        return "/"
    path = tempfile.mkdtemp(prefix="replay-")
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    stack.callback(os.close, number)
    os.rmdir(path)
    return f"/proc/self/fd/{number}"


def opened(kind: str, stack: contextlib.ExitStack) -> int:
    """The stdout of a plugin: a pipe, a full disk, or a pipe that nobody reads."""
    if kind == "pipe":
        return subprocess.PIPE
    if kind == "full":
        return stack.enter_context(open("/dev/full", "wb")).fileno()
    nobody, number = os.pipe()
    os.close(nobody)
    stack.callback(os.close, number)
    return number


def ended(status: int, out: bytes, err: bytes) -> Answer:
    """`exit 1, code 7`, the message, and the document on stdout."""
    words = f"exit {status}" if status >= 0 else f"signal {-status}"
    try:
        document = json.loads(out) if out.strip() else None
    except ValueError:
        document = " ".join(out.decode(errors="backslashreplace").split())
    said = document if isinstance(document, dict) else {}
    if status and isinstance(said.get("code"), int):
        return f"{words}, code {said['code']}", str(said.get("msg", "")), document
    return words, " ".join(err.decode(errors="replace").split()), document


def main(record: Mapping[str, Any], arguments: Sequence[str]) -> int:
    """Plays the record with its plugin, or the one whose path is given."""
    if "REPLAY_INSIDE" not in os.environ:
        enter()
    cover()
    with tempfile.TemporaryDirectory(prefix="replay-", ignore_cleanup_errors=True) as home:
        return inside(record, arguments, home)


def inside(record: Mapping[str, Any], arguments: Sequence[str], home: str) -> int:
    """Plays the record in the namespaces that were entered; home: for the folders of then."""
    own = {then: f"{home}/{number}" for number, then in enumerate(record["folders"])}
    for path in own.values():
        os.mkdir(path)
    if arguments:
        own |= {record["plugin"]: arguments[0]}
        own |= {os.path.dirname(record["plugin"]): os.path.dirname(arguments[0])}
    names = Names({**own, record["run"]: fresh()})
    calls = [{**call, "plugin": names.now(call["plugin"])} for call in record["calls"]]
    return tell(play(calls, ask, names), record["finding"])
