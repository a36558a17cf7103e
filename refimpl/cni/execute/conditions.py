"""The circumstances of one exec that a plugin must not depend on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import attrs


@attrs.frozen
class Conditions:
    """All defaults: what an ordinary runtime provides.

    chunk: bytes of stdin written at a time, 0 for all at once. stdout: "broken" is a pipe that
    nobody reads, "full" a file on a full disk. closed: descriptors the plugin does not get at all.
    gone: the working directory was removed. kill_after_s: SIGKILL that long after the start.
    """

    chunk: int = 0
    stdout: Literal["pipe", "broken", "full"] = "pipe"
    closed: frozenset[int] = frozenset()
    gone: bool = False
    umask: int = 0o022
    kill_after_s: float | None = None

    def odd(self) -> dict[str, Any]:
        """What is not as an ordinary runtime provides it, as JSON values."""
        values = attrs.asdict(self, filter=lambda field, value: value != field.default)
        return {
            name: sorted(value) if name == "closed" else value for name, value in values.items()
        }

    @property
    def prepare(self) -> Callable[[], None] | None:
        """What the child does before it becomes the plugin; None where nothing is needed."""
        if not self.closed:
            return None
        closed = tuple(self.closed)

        def close() -> None:
            for number in closed:
                os.close(number)

        return close


PLAIN = Conditions()
