"""Running another plugin in one's own place: found through CNI_PATH, same environment and stdin.

CNI 1.1 "Delegated plugin execution": its stderr is passed on, its error is the caller's error.
"""

from __future__ import annotations

import os

from refimpl.cni.format.errors import INVALID_CONFIG, INVALID_ENVIRONMENT, CniError
from refimpl.cni.plugins.errors import DELEGATE
from refimpl.cni.plugins.json import parse_object
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from refimpl.cni.plugins.call import Call, Executed

__all__ = ["add", "ask", "execute", "find", "spawn"]

_SIGPIPE, _SIGXFSZ = 13, 25  # Python ignores these two, and an exec would hand that on


def find(name: str, search: str) -> str:
    """The first regular file of that name in the directories of CNI_PATH. Raises CniError."""
    if not name or "/" in name or name in (".", ".."):
        raise CniError(
            INVALID_CONFIG, f"the delegate's type is {name!r}; it has to be a file's name"
        )
    if not search:
        raise CniError(
            INVALID_ENVIRONMENT, f"CNI_PATH is not set or empty: {name} has to be found there"
        )
    for folder in search.split(os.pathsep):
        path = os.path.join(folder, name)
        if folder and os.path.isfile(path):
            return path
    raise CniError(DELEGATE, f"there is no plugin {name} in CNI_PATH={search}; install it there")


def execute(name: str, environ: Mapping[str, str], stdin: bytes) -> Executed:
    """Finds and runs a plugin: (status, stdout, stderr). Raises CniError."""
    return spawn(find(name, environ.get("CNI_PATH", "")), environ, stdin)


def spawn(path: str, environ: Mapping[str, str], stdin: bytes) -> Executed:
    """Runs a program; status is negative for a signal. Raises CniError.

    The streams are files in memory: nothing can block, not even a child that keeps them open.
    """
    files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        with open(files[0], "wb", closefd=False) as given:
            given.write(stdin)
        os.lseek(files[0], 0, os.SEEK_SET)
        places = [(os.POSIX_SPAWN_DUP2, file, number) for number, file in enumerate(files)]
        process = os.posix_spawn(
            path, [path], environ, file_actions=places, setsigdef=[_SIGPIPE, _SIGXFSZ]
        )
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        return status, _whole(files[1]), _whole(files[2])
    except OSError as error:
        raise CniError(DELEGATE, f"{path} could not be run: {error.strerror}") from None
    finally:
        for file in files:
            os.close(file)


def _whole(file: int) -> bytes:
    with open(file, "rb", closefd=False) as read:
        read.seek(0)
        return read.read()


def ask(call: Call, name: str, verb: str = "", stdin: bytes | None = None) -> bytes:
    """Runs a delegate with the call's own request (`verb` overrides CNI_COMMAND) and returns its
    stdout. Raises CniError with the delegate's own code and words."""
    verb = verb or call.verb
    environ, given = request(call, verb, call.stdin if stdin is None else stdin)
    status, out, err = (call.execute or execute)(name, environ, given)
    hear(call, err)
    check_end(call, name, verb, (status, out))
    return out


@step
def request(call: Call, verb: str, stdin: bytes) -> tuple[dict[str, str], bytes]:
    """Environment and stdin of a delegate."""
    return {**call.environ, "CNI_COMMAND": verb}, stdin


@step
def hear(call: Call, err: bytes) -> None:
    """Passes on what a delegate writes to stderr."""
    if err:
        call.log.append(err if err.endswith(b"\n") else err + b"\n")


@step
def check_end(call: Call, name: str, verb: str, end: tuple[int, bytes]) -> None:  # noqa: ARG001
    """Raises CniError for a delegate that failed; `end` is its status and stdout."""
    if end[0]:
        raise _failure(name, verb, *end)


def add(call: Call, name: str, stdin: bytes | None = None) -> dict[str, Any]:
    """As `ask`, for ADD: the decoded result. A delegate that failed, or whose result cannot be
    read, gets a DEL. Raises CniError."""
    try:
        return parsed(call, name, ask(call, name, stdin=stdin))
    except CniError:
        undo(call, name, stdin)
        raise


@step
def parsed(call: Call, name: str, out: bytes) -> dict[str, Any]:  # noqa: ARG001
    """The object on a delegate's stdout. Raises CniError."""
    try:
        return parse_object(out)
    except ValueError as error:
        raise CniError(
            DELEGATE,
            f"{name} ADD exited 0, but its stdout is no result: {error}",
            repr(out[:200]),
        ) from None


@step
def undo(call: Call, name: str, stdin: bytes | None = None) -> None:
    """DEL after an ADD that did not work out; what it says goes to the log."""
    try:
        ask(call, name, "DEL", stdin)
    except CniError as failure:
        call.say(f"DEL of {name} after a failed ADD: {failure.msg}")


def _failure(name: str, verb: str, status: int, out: bytes) -> CniError:
    how = f"was ended by signal {-status}" if status < 0 else f"exited {status}"
    try:
        error = parse_object(out)
    except ValueError:
        return CniError(DELEGATE, f"{name} {verb} {how} without an error object", repr(out[:200]))
    code, msg = error.get("code"), error.get("msg")
    if isinstance(code, bool) or not isinstance(code, int) or code < 1:
        return CniError(DELEGATE, f"{name} {verb} {how}, its error has code {code!r}", str(msg))
    details = error.get("details")
    return CniError(
        code,
        msg if isinstance(msg, str) and msg else f"{name} {verb} {how}",
        details if isinstance(details, str) else "",
    )
