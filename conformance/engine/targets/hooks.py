"""What changes things behind a target's back: `hooks` of a target file, or methods of our fake."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.engine.options import BadOption
from conformance.engine.targets import placeholders
from conformance.engine.verdict import timeout

__all__ = ["HOOK_S", "Hook", "Hooks"]

HOOK_S = 60.0
"""How long a command may take."""

Hook = Sequence[str] | Callable[..., object]
"""A command of the user, whose {words} are filled in (no shell), or a function of these names."""


class Hooks:
    """Hooks by name; one that is an empty command is not there.

    A case asks for a hook and cannot tell who answers: a command where a real program is judged, a
    function where our fake is.
    """

    def __init__(self, hooks: Mapping[Any, Hook]) -> None:
        self._hooks = {str(name): hook for name, hook in hooks.items() if hook}

    def has(self, *names: str) -> bool:
        """Whether all of these are there."""
        return all(name in self._hooks for name in names)

    def takes(self, name: str, value: str) -> bool:
        """Whether a hook makes a difference between values: a command has {value} in it; functions
        take all that they are given."""
        hook = self._hooks.get(name, ())
        return callable(hook) or value in placeholders.used(hook)

    def run(self, name: str, **values: object) -> None:
        """Runs a hook and waits for its end; raises BadOption when it cannot be run or fails."""
        hook = self._hooks[name]
        if callable(hook):
            hook(**values)
        else:
            _run(f"hooks.{name}", [placeholders.fill(word, values) for word in hook])


def _run(name: str, command: Sequence[str]) -> None:
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
