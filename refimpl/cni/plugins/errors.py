"""What a plugin refuses with, and which versions it speaks: plain data (CNI 1.1 "Error")."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AGAIN",
    "BROKEN",
    "CHANGED",
    "DECODE",
    "DELEGATE",
    "ENVIRONMENT",
    "EXHAUSTED",
    "EXISTS",
    "IO",
    "NETNS",
    "NETWORK",
    "UNAVAILABLE",
    "UNSUPPORTED",
    "VERSION",
    "VERSIONS",
    "Failure",
    "ProcessOnly",
    "at_least",
]

VERSION, UNSUPPORTED, ENVIRONMENT, IO, DECODE, NETWORK, NETNS = 1, 2, 4, 5, 6, 7, 8
AGAIN, UNAVAILABLE = 11, 50
EXISTS, EXHAUSTED, DELEGATE, CHANGED, BROKEN = 100, 101, 102, 103, 999
"""From 100 on a plugin may choose: the attachment is there already; no free address; a delegate
that could not be run or did not say why it failed; not as CHECK expects it; our own mistake."""

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")


class Failure(Exception):
    """A refusal on its way to stdout. `code` is the number of the error object."""

    def __init__(self, code: int, msg: str, details: str = "") -> None:
        super().__init__(msg)
        self.code, self.msg, self.details = code, msg, details

    def document(self, version: str) -> dict[str, Any]:
        """The error object; `details` is there only when there are any."""
        found: dict[str, Any] = {"cniVersion": version, "code": self.code, "msg": self.msg}
        if self.details:
            found["details"] = self.details
        return found


class ProcessOnly(Exception):
    """A fault that takes a process of its own, asked of a plugin that runs as a function."""


class Died(Exception):
    """The plugin ends here without an answer; `status` is negative for a signal."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


def at_least(version: str, floor: str) -> bool:
    """Whether a version of the table is `floor` or newer."""
    return VERSIONS.index(version) >= VERSIONS.index(floor)
