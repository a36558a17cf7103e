"""The codes that our plugins choose themselves, and the ends of a call that are no refusal."""

from __future__ import annotations

__all__ = ["CHANGED", "DELEGATE", "EXHAUSTED", "EXISTS", "Died", "ProcessOnly"]

EXISTS, EXHAUSTED, DELEGATE, CHANGED = 100, 101, 102, 103
"""The attachment is there already; no free address; a delegate that could not be run or did not say
why it failed; not as CHECK expects it."""


class ProcessOnly(Exception):
    """A fault that takes a process of its own, asked of a plugin that runs as a function."""


class Died(Exception):
    """The plugin ends here without an answer; `status` is negative for a signal."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status
