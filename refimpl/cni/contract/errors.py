"""Error objects and their codes (CNI SPEC section 5, Error)."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from refimpl.cni.contract.problem import Kind, Problem, ShapeError, is_integer, wanted

__all__ = ["MEANINGS", "SPECIFIED", "CniError", "ErrorCode", "allowed_code"]


class ErrorCode(enum.IntEnum):
    """The codes in use; 8 and 999 are those of the Go library only."""

    INCOMPATIBLE_VERSION = 1
    UNSUPPORTED_FIELD = 2
    UNKNOWN_CONTAINER = 3
    INVALID_ENVIRONMENT = 4
    IO = 5
    DECODE = 6
    INVALID_CONFIG = 7
    INVALID_NETNS = 8
    TRY_AGAIN_LATER = 11
    NOT_AVAILABLE = 50
    LIMITED = 51
    INTERNAL = 999


MEANINGS: Mapping[ErrorCode, str] = {
    ErrorCode.INCOMPATIBLE_VERSION: "the plugin does not speak the version of the configuration",
    ErrorCode.UNSUPPORTED_FIELD: "the configuration has a field that the plugin cannot serve",
    ErrorCode.UNKNOWN_CONTAINER: "no such container: there is nothing to clean up",
    ErrorCode.INVALID_ENVIRONMENT: "an environment variable is missing or wrong",
    ErrorCode.IO: "reading or writing failed",
    ErrorCode.DECODE: "the input could not be decoded",
    ErrorCode.INVALID_CONFIG: "the configuration breaks a rule",
    ErrorCode.INVALID_NETNS: "the network namespace is not usable (Go library only)",
    ErrorCode.TRY_AGAIN_LATER: "a passing condition: the same call may succeed later",
    ErrorCode.NOT_AVAILABLE: "the plugin cannot serve ADD",
    ErrorCode.LIMITED: "the plugin cannot serve ADD, and running containers may be cut off",
    ErrorCode.INTERNAL: "an error without a code of its own (Go library only)",
}

# 50 and 51 came into the table of codes after the tag of 1.1.0.
SPECIFIED: frozenset[int] = frozenset({1, 2, 3, 4, 5, 6, 7, 11, 50, 51})
_FIRST_OF_PLUGINS = 100


def allowed_code(code: int) -> bool:
    """Whether a plugin may use this code: one of the table, or its own from 100 on."""
    return code in SPECIFIED or code >= _FIRST_OF_PLUGINS


class CniError(Exception):
    """An error object, raised by whoever refuses and by whoever reads the refusal.

    `cni_version` is "" when the object had none, as those of the Go library.
    """

    def __init__(self, code: int, msg: str, details: str = "", cni_version: str = "") -> None:
        super().__init__(code, msg, details, cni_version)
        self.code = code
        self.msg = msg
        self.details = details
        self.cni_version = cni_version

    def __str__(self) -> str:
        known = self.code in MEANINGS
        name = f"{self.code} {ErrorCode(self.code).name}" if known else str(self.code)
        return f"{self.msg}{'; ' if self.details else ''}{self.details} (code {name})"

    def to_dict(self) -> dict[str, object]:
        """The object as it goes out; members that say nothing are left out."""
        said = {"cniVersion": self.cni_version} if self.cni_version else {}
        details = {"details": self.details} if self.details else {}
        return {**said, "code": int(self.code), "msg": self.msg, **details}

    @classmethod
    def from_document(cls, value: object) -> CniError:
        """The error in a decoded JSON value, also when it breaks rules of `error_problems`.

        Raises ShapeError for what is no error object at all: no object, no unsigned integer as
        `code`, or another member that is no string.
        """
        if not isinstance(value, dict):
            problem = Problem("", wanted("an object", value), Kind.TYPE)
            raise ShapeError("a CNI error object", [problem])
        found = _unreadable(value)
        if found:
            raise ShapeError("a CNI error object", found)
        texts = [value.get(name) or "" for name in _TEXTS]
        return cls(value["code"], *texts)


_TEXTS = ("msg", "details", "cniVersion")


def _unreadable(value: dict[str, object]) -> list[Problem]:
    found = []
    code = value.get("code")
    if "code" not in value:
        found.append(Problem("/code", "wanted an unsigned integer, got nothing", Kind.MISSING))
    elif not is_integer(code) or code < 0:
        found.append(Problem("/code", wanted("an unsigned integer", code), Kind.TYPE))
    for name in _TEXTS:
        if not isinstance(value.get(name), str | None):
            found.append(Problem(f"/{name}", wanted("a string", value[name]), Kind.TYPE))
    return found
