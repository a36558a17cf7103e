"""The error object and its codes (CNI SPEC section 5, Error)."""

from __future__ import annotations

__all__ = ["CniError"]

INCOMPATIBLE_VERSION, UNSUPPORTED_FIELD, UNKNOWN_CONTAINER, INVALID_ENVIRONMENT = 1, 2, 3, 4
IO, DECODE, INVALID_CONFIG, INVALID_NETNS, TRY_AGAIN_LATER = 5, 6, 7, 8, 11
NOT_AVAILABLE, LIMITED, INTERNAL = 50, 51, 999
"""8 and 999 are those of the Go library only; from 100 on a plugin has codes of its own."""


NAMES = {
    INCOMPATIBLE_VERSION: "INCOMPATIBLE_VERSION",
    UNSUPPORTED_FIELD: "UNSUPPORTED_FIELD",
    UNKNOWN_CONTAINER: "UNKNOWN_CONTAINER",
    INVALID_ENVIRONMENT: "INVALID_ENVIRONMENT",
    IO: "IO",
    DECODE: "DECODE",
    INVALID_CONFIG: "INVALID_CONFIG",
    INVALID_NETNS: "INVALID_NETNS",
    TRY_AGAIN_LATER: "TRY_AGAIN_LATER",
    NOT_AVAILABLE: "NOT_AVAILABLE",
    LIMITED: "LIMITED",
    INTERNAL: "INTERNAL",
}


class CniError(Exception):
    """An error object, raised by whoever refuses and by whoever reads the refusal.

    `cni_version` is "" when the object had none, as those of the Go library.
    """

    def __init__(self, code: int, msg: str, details: str = "", cni_version: str = "") -> None:
        super().__init__(code, msg, details, cni_version)
        self.code, self.msg, self.details = code, msg, details
        self.cni_version = cni_version

    def __str__(self) -> str:
        code = f"{int(self.code)} {NAMES.get(self.code, '')}".rstrip()
        return f"{self.msg}{'; ' if self.details else ''}{self.details} (code {code})"

    def to_dict(self, version: str = "") -> dict[str, object]:
        """The object as it goes out; members that say nothing are left out. `version` stands in for
        an error that has none."""
        own = self.cni_version or version
        head = {"cniVersion": own} if own else {}
        details = {"details": self.details} if self.details else {}
        return {**head, "code": int(self.code), "msg": self.msg, **details}
