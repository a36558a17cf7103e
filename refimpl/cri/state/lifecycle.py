"""What may become of sandboxes and containers: one literal table each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from refimpl.cri.state.models import Container, ContainerState
from refimpl.wire.status import Code, Refused

__all__ = ["CONTAINER", "KILLED", "TERMINATED", "ContainerEvent", "after", "reason_of"]

ContainerEvent = Literal["start", "exit", "stop", "sandbox stop"]

_CREATED, _RUNNING = ContainerState.CREATED, ContainerState.RUNNING
_EXITED, _UNKNOWN = ContainerState.EXITED, ContainerState.UNKNOWN

CONTAINER: Mapping[tuple[ContainerState, ContainerEvent], ContainerState] = {
    (_CREATED, "start"): _RUNNING,
    (_CREATED, "stop"): _CREATED,
    (_CREATED, "sandbox stop"): _EXITED,
    (_RUNNING, "exit"): _EXITED,
    (_RUNNING, "stop"): _EXITED,
    (_RUNNING, "sandbox stop"): _EXITED,
    (_EXITED, "stop"): _EXITED,
    (_EXITED, "sandbox stop"): _EXITED,
    (_UNKNOWN, "stop"): _EXITED,
    (_UNKNOWN, "sandbox stop"): _EXITED,
}
"""What is not in the table is refused. A sandbox goes from READY to NOTREADY and never back."""

TERMINATED, KILLED = 128 + 15, 128 + 9
"""Exit codes of processes that a signal ended."""

_HINTS: Mapping[ContainerEvent, str] = {
    "start": "a container is started once: create another one",
    "exit": "only a process that runs can end",
}


def after(container: Container, event: ContainerEvent) -> ContainerState:
    """The state that follows; FAILED_PRECONDITION where the table has none."""
    following = CONTAINER.get((container.state, event))
    if following is None:
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"{event} of container {container.id} ({container.key.name}), which is"
            f" {container.state.name}: {_HINTS.get(event, 'not in this state')}",
        )
    return following


def reason_of(exit_code: int) -> str:
    """The reason that both runtimes give for a process that ended by itself."""
    return "Error" if exit_code else "Completed"
