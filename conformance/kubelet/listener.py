"""A listening socket of another process that breaks: strace has its accept fail."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from pathlib import Path

from conformance.engine.verdict import Broken, eventually

__all__ = ["break_listener", "can_break"]

_LIMIT_S = 20.0
_FAILS = ("-e", "trace=accept4", "-e", "inject=accept4:error=EINVAL")
_STRACE = ("strace", "-f", "-o", os.devnull, *_FAILS)


def can_break() -> bool:
    """Whether this machine has what it takes."""
    return shutil.which("strace") is not None


def break_listener(pid: int, path: Path) -> None:
    """Connects to the unix socket at which the process listens, and has it get EINVAL for that; so
    would whoever connects to another socket of it meanwhile. RuntimeError if it cannot be traced.

    Nothing of this shows from outside alone: a socket that is shut down makes an accept that polls
    wait for ever.
    """
    command = [*_STRACE, "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracing:
        assert tracing.stderr is not None
        try:
            line = tracing.stderr.readline()
            if "attached" not in line:
                raise RuntimeError(f"strace cannot follow process {pid}: {line.strip()}")
            _call(path)
            with contextlib.suppress(Broken):  # a listener that ends takes it away
                eventually(lambda: not path.exists(), _LIMIT_S, f"{path} goes")
        finally:
            tracing.terminate()


def _call(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as caller, contextlib.suppress(OSError):
        caller.connect(str(path))
