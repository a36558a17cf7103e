"""What the machine answers, said in the words of the wire: errno to status code."""

from __future__ import annotations

import errno
import os
from types import TracebackType

from refimpl.wire.status import Code, Refused

__all__ = ["machine", "refusal"]

_CODES = {
    errno.ENOSPC: Code.RESOURCE_EXHAUSTED,
    errno.EDQUOT: Code.RESOURCE_EXHAUSTED,
    errno.EFBIG: Code.RESOURCE_EXHAUSTED,
    errno.EMFILE: Code.RESOURCE_EXHAUSTED,
    errno.ENFILE: Code.RESOURCE_EXHAUSTED,
    errno.ENOMEM: Code.RESOURCE_EXHAUSTED,
    errno.EPERM: Code.PERMISSION_DENIED,
    errno.EACCES: Code.PERMISSION_DENIED,
    errno.ENAMETOOLONG: Code.INVALID_ARGUMENT,
    errno.ENOENT: Code.FAILED_PRECONDITION,
    errno.ENOTDIR: Code.FAILED_PRECONDITION,
    errno.ELOOP: Code.FAILED_PRECONDITION,
    errno.EEXIST: Code.FAILED_PRECONDITION,
    errno.EISDIR: Code.FAILED_PRECONDITION,
    errno.ENOTEMPTY: Code.FAILED_PRECONDITION,
    errno.EROFS: Code.FAILED_PRECONDITION,
    errno.ENOTCONN: Code.FAILED_PRECONDITION,
    errno.ESTALE: Code.FAILED_PRECONDITION,
    errno.EIO: Code.FAILED_PRECONDITION,
    # A caller that lets go of the path and asks again succeeds, so the answer must be retriable.
    errno.EBUSY: Code.ABORTED,
}

_DEAD = "what is mounted there answers no more; unmount it and repeat the call"
_HINTS = {
    errno.ENOSPC: "free space below the driver's directory and repeat the call",
    errno.EPERM: "run the driver as root, or choose storage mode directory",
    errno.EACCES: "give the driver's user access to the path",
    errno.ENAMETOOLONG: "the machine's limit is lower than this path",
    errno.ENOENT: "something on the way is missing; the caller makes the parent of a target",
    errno.EBUSY: "a process holds files open there; let go and repeat the call",
    errno.ENOTCONN: _DEAD,
    errno.ESTALE: _DEAD,
    errno.EIO: _DEAD,
}


def refusal(error: OSError, doing: str, path: str) -> Refused:
    """The status of a system call that failed; the message names the path and what to do."""
    hint = _HINTS.get(error.errno or 0)
    reason = os.strerror(error.errno) if error.errno else str(error)
    message = f"cannot {doing} at {path!r}: {reason}" + (f"; {hint}" if hint else "")
    return Refused(_CODES.get(error.errno or 0, Code.INTERNAL), message)


class machine:  # noqa: N801  (reads as a statement: with machine("bind", path))
    """Context: an OSError inside leaves as Refused with the fitting code.

    `doing` completes "cannot ..."; a path with a NUL byte, which the system interface of Python
    refuses with ValueError, becomes INVALID_ARGUMENT.
    """

    __slots__ = ("_doing", "_path")

    def __init__(self, doing: str, path: str) -> None:
        self._doing = doing
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            raise refusal(error, self._doing, self._path) from error
        if isinstance(error, ValueError) and "\0" in self._path:
            raise Refused(
                Code.INVALID_ARGUMENT, f"path {self._path!r} holds a NUL byte; no file has one"
            ) from error
