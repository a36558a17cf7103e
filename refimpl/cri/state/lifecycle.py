"""What may become of sandboxes, containers and images: one literal table each."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Literal

from refimpl.cri.state.models import Container, ContainerState, Sandbox, SandboxState
from refimpl.wire.status import Code, Refused

__all__ = [
    "CONTAINER",
    "IMAGE",
    "SANDBOX",
    "ContainerEvent",
    "ImageEvent",
    "ImageState",
    "SandboxEvent",
    "after",
    "reason_of",
    "sandbox_after",
]

SandboxEvent = Literal["stop", "breakdown", "create"]
ContainerEvent = Literal["start", "start failure", "exit", "stop", "sandbox stop", "update"]
ImageEvent = Literal["pull", "pulled", "pull failure"]

_READY, _NOTREADY = SandboxState.READY, SandboxState.NOTREADY
_CREATED, _RUNNING = ContainerState.CREATED, ContainerState.RUNNING
_EXITED, _UNKNOWN = ContainerState.EXITED, ContainerState.UNKNOWN


class ImageState(enum.Enum):
    """Of a reference."""

    ABSENT = "absent"
    PULLING = "pulling"
    PRESENT = "present"


SANDBOX: Mapping[tuple[SandboxState, SandboxEvent], SandboxState] = {
    (_READY, "create"): _READY,
    (_READY, "stop"): _NOTREADY,
    (_READY, "breakdown"): _NOTREADY,
    (_NOTREADY, "stop"): _NOTREADY,
    (_NOTREADY, "breakdown"): _NOTREADY,
}
"""What is not in a table is refused. No sandbox becomes READY again: kubelet makes another."""

CONTAINER: Mapping[tuple[ContainerState, ContainerEvent], ContainerState] = {
    (_CREATED, "start"): _RUNNING,
    (_CREATED, "start failure"): _EXITED,
    (_CREATED, "stop"): _CREATED,
    (_CREATED, "sandbox stop"): _EXITED,
    (_CREATED, "update"): _CREATED,
    (_RUNNING, "exit"): _EXITED,
    (_RUNNING, "stop"): _EXITED,
    (_RUNNING, "sandbox stop"): _EXITED,
    (_RUNNING, "update"): _RUNNING,
    (_EXITED, "stop"): _EXITED,
    (_EXITED, "sandbox stop"): _EXITED,
    (_UNKNOWN, "stop"): _EXITED,
    (_UNKNOWN, "sandbox stop"): _EXITED,
}

IMAGE: Mapping[tuple[ImageState, ImageEvent], ImageState] = {
    (ImageState.ABSENT, "pull"): ImageState.PULLING,
    (ImageState.ABSENT, "pull failure"): ImageState.ABSENT,
    (ImageState.PULLING, "pull"): ImageState.PULLING,
    (ImageState.PULLING, "pulled"): ImageState.PRESENT,
    (ImageState.PULLING, "pull failure"): ImageState.ABSENT,
    (ImageState.PRESENT, "pull"): ImageState.PRESENT,
    (ImageState.PRESENT, "pulled"): ImageState.PRESENT,
    (ImageState.PRESENT, "pull failure"): ImageState.PRESENT,
}
"""Of a reference. What is there stays there while it is looked up again; what is not there may fail
twice, for two with different credentials."""

_HINTS: Mapping[str, str] = {
    "start": "a container is started once: create another one",
    "exit": "only a process that runs can end",
    "update": "resources can be changed before it ends",
    "create": "containers are created in READY ones, run another sandbox",
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


def sandbox_after(sandbox: Sandbox, event: SandboxEvent) -> SandboxState:
    """As `after`, of a sandbox."""
    following = SANDBOX.get((sandbox.state, event))
    if following is None:
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"sandbox {sandbox.id} ({sandbox.key.name}) is {sandbox.state.name}:"
            f" {_HINTS.get(event, 'not in this state')}",
        )
    return following


def reason_of(exit_code: int) -> str:
    """The reason that both runtimes give for a process that ended by itself."""
    return "Error" if exit_code else "Completed"
