"""The status of a call: the one thing that crosses from a fake's rules to the wire and back."""

from __future__ import annotations

import enum

__all__ = ["Code", "Refused"]


class Code(enum.IntEnum):
    """The 17 status codes of gRPC under their numbers on the wire (gRPC status code registry)."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class Refused(Exception):
    """A call that ends with a status other than OK.

    A fake's rules raise it and `wire.server` puts it on the wire; `wire.client` raises it for
    every answer that is not OK, so that both sides talk of the same thing.
    `details` is the serialized `google.rpc.Status` of the `grpc-status-details-bin` trailer.
    Raises ValueError for OK, which refuses nothing.
    """

    def __init__(self, code: Code, message: str, *, details: bytes = b"") -> None:
        if code == Code.OK:
            raise ValueError(f"Refused(OK, {message!r}): OK is no refusal; return a reply instead")
        super().__init__(code, message)
        self.code = Code(code)
        # A file name may hold what is no text; neither gRPC nor JSON can carry it.
        self.message = message.encode("utf-8", "backslashreplace").decode("utf-8")
        self.details = details

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        # Test workers send exceptions to each other; the keyword argument must survive that.
        return _rebuild, (type(self), self.code, self.message, self.details)


def _rebuild(kind: type[Refused], code: Code, message: str, details: bytes) -> Refused:
    return kind(code, message, details=details)
