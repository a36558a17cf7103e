"""Commands of the user that change what a target depends on: `hooks` in a target file."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from conformance.engine.options import BadOption
from conformance.engine.verdict import timeout

__all__ = ["HOOK_S", "run_hook"]

HOOK_S = 60.0
"""How long a command may take."""


def run_hook(name: str, command: Sequence[str]) -> None:
    """Runs one command of the user; raises BadOption when it cannot be run or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout(HOOK_S), check=False
        )
    except OSError as error:
        raise BadOption(f"{name}: {command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BadOption(f"{name}: did not end within {timeout(HOOK_S):g} s") from error
    if done.returncode:
        raise BadOption(f"{name}: ended with {done.returncode}: {done.stderr.strip()[:200]}")
