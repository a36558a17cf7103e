"""Calls that the state wants made while it decides. It yields them; whoever drives it makes them.

A `Flow` is a generator of effects: each is answered by `send` with what its class says, or by
`throw` with Refused (a status of the plugin) or OSError (a file). `perform` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import attrs

from refimpl.deviceplugin.state.endpoints import Connection
from refimpl.deviceplugin.state.settings import PRE_START_S
from refimpl.wire.status import Refused

T = TypeVar("T")


@attrs.frozen
class GetPreferredAllocation:
    """Answer: the ids of each container response; kubelet reads the first. No deadline."""

    connection: Connection
    available: tuple[str, ...]
    must_include: tuple[str, ...]
    size: int


@attrs.frozen
class Allocate:
    """Answer: the `ContainerResponse` of each container. One container a call, no deadline."""

    connection: Connection
    ids: tuple[str, ...]


@attrs.frozen
class PreStartContainer:
    """Answer: None, within `deadline_s` seconds."""

    connection: Connection
    ids: tuple[str, ...]
    deadline_s: float = PRE_START_S


@attrs.frozen
class WriteCheckpoint:
    """Answer: None once `checkpoint.dump` of the present state is on disk."""


Effect = GetPreferredAllocation | Allocate | PreStartContainer | WriteCheckpoint
Flow = Generator[Effect, Any, T]


def perform(
    flow: Flow[T],
    call: Callable[[Effect], object],
    lock: AbstractContextManager[object] | None = None,
) -> T:
    """Drive a flow to its result. `lock` is held while the state decides, never during a call."""
    guard = lock or nullcontext()
    try:
        with guard:
            effect = next(flow)
        while True:
            try:
                answer = call(effect)
            except (Refused, OSError) as error:
                with guard:
                    effect = flow.throw(error)
            else:
                with guard:
                    effect = flow.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result
