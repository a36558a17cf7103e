"""What goes wrong on the way to an image."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Iterable

import attrs

__all__ = ["Fault", "Faults"]


@attrs.frozen(kw_only=True)
class Fault:
    """path: a glob of the request's path. times: how often, None for ever.

    status: answered instead. delay_s: waited before. cut: the content ends after so many bytes, and
    with it the connection. wrong: the content is not that of its digest, though as long.
    """

    path: str = "*"
    times: int | None = None
    status: int = 0
    delay_s: float = 0.0
    cut: int | None = None
    wrong: bool = False


class Faults:
    """Those that are left; each is used up by the requests that it meets."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self._left = list(faults)

    def add(self, fault: Fault) -> None:
        """One more."""
        with self._lock:
            self._left.append(fault)

    def clear(self) -> None:
        """None any more."""
        with self._lock:
            self._left.clear()

    def take(self, path: str) -> Fault | None:
        """The first that meets a request for this path."""
        with self._lock:
            for index, fault in enumerate(self._left):
                if fault.times != 0 and fnmatch.fnmatchcase(path, fault.path):
                    if fault.times is not None:
                        self._left[index] = attrs.evolve(fault, times=fault.times - 1)
                    return fault
        return None
