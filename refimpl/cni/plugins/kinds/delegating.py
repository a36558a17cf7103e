"""The meta plugin: another plugin does the work.

Configuration: `delegate`, either the name of a plugin, which then gets the same stdin (CNI 1.1), or
a plugin's configuration, which then gets that with the members of the request a runtime adds.
"""

from __future__ import annotations

from refimpl.cni.format.errors import INVALID_CONFIG, CniError
from refimpl.cni.format.versions import VERSIONS
from refimpl.cni.plugins import delegate, spaces
from refimpl.cni.plugins.checks import valid_pairs
from refimpl.cni.plugins.errors import DELEGATE
from refimpl.cni.plugins.json import dumps
from refimpl.cni.plugins.results import load, same_shape, shape
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call

__all__ = ["add", "check", "delete", "gc", "status"]

_PASSED_ON = (
    "args",
    "prevResult",
    "runtimeConfig",
    "cni.dev/valid-attachments",
    "cni.dev/attachments",
)


def _target(call: Call) -> tuple[str, bytes]:
    """The delegate's name and what it gets on stdin. Raises CniError."""
    given = call.config.get("delegate")
    if isinstance(given, str) and given:
        return given, call.stdin
    if isinstance(given, dict) and isinstance(given.get("type"), str):
        added = {key: call.config[key] for key in _PASSED_ON if key in call.config}
        head = {"cniVersion": call.version, "name": call.name}
        return given["type"], dumps({**given, **added, **head})
    raise CniError(
        INVALID_CONFIG,
        f"delegate is {given!r}; it has to be a plugin's name or an object with a type",
    )


@step
def add(call: Call) -> dict[str, Any]:
    """The delegate's result in the version asked for. Raises CniError, its code the delegate's."""
    spaces.refuse_own(call)
    name, stdin = _target(call)
    document = attached(call, name, stdin)
    try:
        version = document.get("cniVersion") or call.version
        if version not in VERSIONS:
            raise ValueError(f"its cniVersion is {version!r}, which is no known version")
        if version == call.version:
            return same_shape(document, version)
        return shape(load(document, version), call.version)
    except ValueError as error:
        delegate.undo(call, name, stdin)
        raise CniError(DELEGATE, f"the result of {name} cannot be used: {error}") from None


@step
def attached(call: Call, name: str, stdin: bytes) -> dict[str, Any]:
    """The delegate's own result. Raises CniError."""
    return delegate.add(call, name, stdin)


@step
def delete(call: Call) -> None:
    """Asks the delegate, every time. Raises CniError when it fails."""
    spaces.refuse_own(call)
    _forward(call)


@step
def check(call: Call) -> None:
    """Asks the delegate; prevResult has to be there. Raises CniError."""
    require_prev_result(call)
    _forward(call)


@step
def require_prev_result(call: Call) -> None:
    """Raises CniError without prevResult."""
    if call.config.get("prevResult") is None:
        raise CniError(INVALID_CONFIG, "CHECK needs prevResult; the request has none")


@step
def gc(call: Call) -> None:
    """Asks the delegate. Raises CniError."""
    valid_pairs(call)
    _forward(call)


@step
def status(call: Call) -> None:
    """Asks the delegate. Raises CniError."""
    _forward(call)


def _forward(call: Call) -> None:
    name, stdin = _target(call)
    delegate.ask(call, name, stdin=stdin)
