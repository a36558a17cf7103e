"""Error objects and their codes (CNI SPEC section 5, Error)."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from refimpl.cni.contract.problem import Kind, Problem, ShapeError, is_integer, wanted
from refimpl.cni.format import errors
from refimpl.cni.format.errors import CniError

__all__ = ["MEANINGS", "SPECIFIED", "CniError", "ErrorCode", "allowed_code", "read_error"]


class ErrorCode(enum.IntEnum):
    """The codes in use; 8 and 999 are those of the Go library only."""

    INCOMPATIBLE_VERSION = errors.INCOMPATIBLE_VERSION
    UNSUPPORTED_FIELD = errors.UNSUPPORTED_FIELD
    UNKNOWN_CONTAINER = errors.UNKNOWN_CONTAINER
    INVALID_ENVIRONMENT = errors.INVALID_ENVIRONMENT
    IO = errors.IO
    DECODE = errors.DECODE
    INVALID_CONFIG = errors.INVALID_CONFIG
    INVALID_NETNS = errors.INVALID_NETNS
    TRY_AGAIN_LATER = errors.TRY_AGAIN_LATER
    NOT_AVAILABLE = errors.NOT_AVAILABLE
    LIMITED = errors.LIMITED
    INTERNAL = errors.INTERNAL


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


def read_error(value: object) -> CniError:
    """The error in a decoded JSON value, also when it breaks rules of `error_problems`.

    Raises ShapeError for what is no error object at all: no object, no unsigned integer as
    `code`, or another member that is no string.
    """
    if not isinstance(value, dict):
        problem = Problem("", wanted("an object", value), Kind.TYPE)
        raise ShapeError("a CNI error object", [problem])
    problems = _unreadable(value)
    if problems:
        raise ShapeError("a CNI error object", problems)
    texts = [value.get(name) or "" for name in _TEXTS]
    return CniError(value["code"], *texts)


_TEXTS = ("msg", "details", "cniVersion")


def _unreadable(value: dict[str, object]) -> list[Problem]:
    problems = []
    code = value.get("code")
    if "code" not in value:
        problems.append(Problem("/code", "wanted an unsigned integer, got nothing", Kind.MISSING))
    elif not is_integer(code) or code < 0:
        problems.append(Problem("/code", wanted("an unsigned integer", code), Kind.TYPE))
    for name in _TEXTS:
        if not isinstance(value.get(name), str | None):
            problems.append(Problem(f"/{name}", wanted("a string", value[name]), Kind.TYPE))
    return problems
