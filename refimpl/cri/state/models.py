"""What a runtime knows: records of sandboxes, containers and images, and how they are asked for.

Records are replaced, not changed, so that one that was handed out stays as it was. `config` is the
message as sent, which the state keeps and never looks into.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

import attrs

__all__ = [
    "Clock",
    "Container",
    "ContainerKey",
    "ContainerState",
    "Ids",
    "Image",
    "Sandbox",
    "SandboxKey",
    "SandboxState",
    "Wanted",
]

Clock = Callable[[], int]
"""Nanoseconds since the epoch."""
Ids = Callable[[], str]
"""A new id; no two are the same."""


class SandboxState(enum.IntEnum):
    """Numbers of the schema."""

    READY = 0
    NOTREADY = 1


class ContainerState(enum.IntEnum):
    """Numbers of the schema."""

    CREATED = 0
    RUNNING = 1
    EXITED = 2
    UNKNOWN = 3


@attrs.frozen
class SandboxKey:
    """By what kubelet tells sandboxes apart; `attempt` counts those of one pod from 0."""

    name: str
    namespace: str
    uid: str
    attempt: int = 0


@attrs.frozen
class ContainerKey:
    """By what kubelet tells the containers of a sandbox apart."""

    name: str
    attempt: int = 0


@attrs.frozen
class Sandbox:
    """One sandbox. `address` is its IP, empty on the host's network and once it is stopped."""

    id: str
    key: SandboxKey
    config: Any
    labels: Mapping[str, str]
    handler: str
    created_at: int
    address: str = ""
    state: SandboxState = SandboxState.READY


@attrs.frozen
class Container:
    """One container. Times are ns, 0 for what has not come to pass; `log_path` is a whole path,
    empty where there is to be no log."""

    id: str
    sandbox: SandboxKey
    sandbox_id: str
    key: ContainerKey
    config: Any
    labels: Mapping[str, str]
    image: Image
    created_at: int
    log_path: str = ""
    resources: Any = None
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    state: ContainerState = ContainerState.CREATED


@attrs.frozen
class Image:
    """One image, as known by one name; `size` in bytes."""

    id: str
    name: str
    size: int


@attrs.frozen
class Wanted:
    """A filter: what is given must all hold. `labels` have to be there with these values."""

    id: str = ""
    state: int | None = None
    sandbox_id: str = ""
    labels: Mapping[str, str] = attrs.field(factory=dict)
