"""What CNI_NETNS leads to, and whether a plugin may work there."""

from __future__ import annotations

from refimpl.cni.format.errors import INVALID_ENVIRONMENT, INVALID_NETNS, IO, CniError
from refimpl.cni.plugins import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.request import Call

__all__ = ["kernel_path", "look", "refuse_own", "refuse_own_late", "usable"]


def kernel_path(call: Call) -> str:
    """The kernel file of the settings. Raises CniError."""
    path = call.settings.get("kernel")
    if not path:
        raise CniError(IO, 'the settings name no kernel file; give one as "kernel"')
    return str(path)


def look(call: Call) -> dict[str, Any]:
    """The kernel's state as it is; an empty machine where the settings name none."""
    path = call.settings.get("kernel")
    return kernel.read(path) if path else kernel.empty()


def refuse_own(call: Call) -> None:
    """Raises CniError (8) when CNI_NETNS is the namespace that the plugin itself runs in, unless
    CNI_NETNS_OVERRIDE is 1 or true: before any work, so that nothing has to be undone."""
    override = call.environ.get("CNI_NETNS_OVERRIDE", "")
    wanted = override == "1" or override.lower() == "true"
    if wanted and not call.breach("ignores-override"):
        return
    spared = call.breach("own-netns-accepted") or call.breach("own-netns-late")
    if spared or (call.verb == "DEL" and call.breach("del-own-netns")):
        return
    if call.netns and kernel.is_own(look(call), call.netns):
        raise _own(call)


def refuse_own_late(call: Call, document: dict[str, Any] | None) -> None:
    """The fault of a plugin that finds out after the work where it was: result, then error."""
    if call.breach("own-netns-late") and call.netns and kernel.is_own(look(call), call.netns):
        if document is not None:
            call.knobs["result-then-error"] = {"result": document}
        raise _own(call)


def usable(call: Call, state: dict[str, Any]) -> None:
    """Raises CniError when CNI_NETNS is no network namespace."""
    kind = kernel.state_of(state, call.netns)
    if kind not in ("simulated", "real") and not call.breach("any-netns"):
        if kernel.is_own(state, call.netns):  # asked for by CNI_NETNS_OVERRIDE
            return
        raise CniError(
            INVALID_ENVIRONMENT,
            f"CNI_NETNS is {call.netns}: {kind}; the runtime has to make the namespace before ADD",
        )


def _own(call: Call) -> CniError:
    return CniError(
        INVALID_NETNS,
        f"CNI_NETNS is {call.netns}, the namespace that the plugin runs in; "
        "give the container's, or set CNI_NETNS_OVERRIDE=1",
    )
