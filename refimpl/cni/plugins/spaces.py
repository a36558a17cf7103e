"""What CNI_NETNS leads to, and whether a plugin may work there."""

from __future__ import annotations

from refimpl.cni.format.errors import INVALID_ENVIRONMENT, INVALID_NETNS, IO, CniError
from refimpl.cni.plugins import kernel
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call

__all__ = ["check_own", "inside", "kernel_path", "look", "refuse_own", "usable"]


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


@step
def refuse_own(call: Call) -> None:
    """Raises CniError (8) when CNI_NETNS is the namespace that the plugin itself runs in, unless
    CNI_NETNS_OVERRIDE is 1 or true: before any work, so that nothing has to be undone."""
    if not overridden(call):
        check_own(call)


@step
def overridden(call: Call) -> bool:
    """Whether the caller asks for work in the plugin's own namespace."""
    override = call.environ.get("CNI_NETNS_OVERRIDE", "")
    return override == "1" or override.lower() == "true"


def check_own(call: Call) -> None:
    """Raises CniError (8) when CNI_NETNS is the plugin's own namespace."""
    if call.netns and kernel.is_own(look(call), call.netns):
        raise CniError(
            INVALID_NETNS,
            f"CNI_NETNS is {call.netns}, the namespace that the plugin runs in; "
            "give the container's, or set CNI_NETNS_OVERRIDE=1",
        )


@step
def usable(call: Call, state: dict[str, Any]) -> None:
    """Raises CniError when CNI_NETNS is no network namespace."""
    kind = kernel.state_of(state, call.netns)
    if kind not in ("simulated", "real"):
        if kernel.is_own(state, call.netns):  # asked for by CNI_NETNS_OVERRIDE
            return
        raise CniError(
            INVALID_ENVIRONMENT,
            f"CNI_NETNS is {call.netns}: {kind}; the runtime has to make the namespace before ADD",
        )


@step
def inside(call: Call, state: dict[str, Any]) -> Any:
    """The container's namespace in a state; None when there is none."""
    return kernel.namespace(state, call.netns) if call.netns else None
