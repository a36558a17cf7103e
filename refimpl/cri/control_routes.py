"""What happens to a fake runtime by itself elsewhere, over its control socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from refimpl.wire.control import Route
from refimpl.wire.routes import route
from refimpl.wire.status import Refused

__all__ = ["SteeredRuntime", "control_routes"]


class SteeredRuntime(Protocol):
    """What the routes have of a fake runtime."""

    def exit(self, container_id: str, status: int = 0, reason: str = "") -> None:
        """A container's process ends; raises Refused."""

    def reboot(self) -> None:
        """Nothing runs any more."""

    def set_ready(self, condition: str, reason: str = "", message: str = "") -> None:
        """A condition holds no more, or again; raises ValueError."""


def control_routes(runtime: SteeredRuntime) -> Mapping[str, Route]:
    """POST /exit {container_id, status, reason}; POST /reboot; POST /ready {condition, reason,
    message}, without a reason for one that holds again."""

    def exit(container_id: str, status: int = 0, reason: str = "") -> None:
        try:
            runtime.exit(container_id, status, reason)
        except Refused as refusal:
            raise ValueError(refusal.message) from None

    return {
        "POST /exit": route(exit, container_id=str, status=(int,), reason=(str,)),
        "POST /reboot": route(runtime.reboot),
        "POST /ready": route(runtime.set_ready, condition=str, reason=(str,), message=(str,)),
    }
