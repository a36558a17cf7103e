"""What kubelet does to Register besides what a kubelet does."""

from __future__ import annotations

from collections.abc import Callable

from refimpl.wire.faults import Action, FaultRule, Faults, Status
from refimpl.wire.status import Code

__all__ = ["REGISTER", "Rules"]

REGISTER = "/v1beta1.Registration/Register"


class Rules:
    """`faults` of every kubelet of a target; `came` is told of each Register before it is looked
    at, while the call is open."""

    def __init__(self, came: Callable[[object], object]) -> None:
        self._came = came
        self.faults = Faults()
        self.end()

    def meet(self, action: Action, *, times: int | None = None, resource: str = "") -> None:
        """Lets that happen to Register (of one resource) from now on, or so many times, until
        `end`."""
        request = {"resource_name": resource} if resource else None
        self.faults.add(FaultRule(method=REGISTER, do=action, times=times, request=request))

    def end(self) -> None:
        """Kubelet's own conduct again; what is held goes on."""
        never = Status(Code.UNKNOWN, "never")
        self.faults.replace([FaultRule(id="came", method=REGISTER, request=self._tell, do=never)])

    def _tell(self, request: object) -> bool:
        """As the condition of a rule that never holds."""
        self._came(request)
        return False
