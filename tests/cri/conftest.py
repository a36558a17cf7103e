"""What the tests of the container runtime share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from refimpl.cri.clocks import ManualClock
from refimpl.cri.logs.files import LogFiles
from refimpl.cri.state import Ports, RuntimeSettings, RuntimeState
from refimpl.cri.state.models import (
    Container,
    ContainerKey,
    NewContainer,
    NewSandbox,
    Sandbox,
    SandboxKey,
)
from refimpl.cri.virtual.images import AnyImages
from refimpl.cri.virtual.network import AddressPool
from refimpl.cri.virtual.processes import VirtualProcesses
from refimpl.cri.virtual.programs import Program
from refimpl.wire.status import Code, Refused

RefusedWith = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def refused() -> RefusedWith:
    """`with refused(Code.X, "part of the message"):` the block has to be refused so."""

    @contextmanager
    def expecting(code: Code, *parts: str) -> Iterator[None]:
        with pytest.raises(Refused) as caught:
            yield
        assert caught.value.code == code, str(caught.value)
        for part in parts:
            assert part in caught.value.message

    return expecting


SCRIPTS = {"*/stubborn:*": Program(ignores=frozenset({15})), "*/broken:*": Program(fails="no")}


def state_of(settings: RuntimeSettings | None = None) -> RuntimeState:
    """A runtime of which time and ids are known: it stands at 1000 ns, ids are aa0, aa1 ...

    It has an image `image`, one whose program ignores SIGTERM (`stubborn`), and one whose program
    cannot be started (`broken`).
    """
    clock, numbers = ManualClock(1000), itertools.count()
    processes = VirtualProcesses(clock, SCRIPTS)
    state = RuntimeState(
        settings or RuntimeSettings(),
        Ports(
            clock=clock,
            ids=lambda: f"aa{next(numbers)}",
            handlers={"": processes, "other": processes},
            network=AddressPool(),
            images=AnyImages(),
            logs=LogFiles(clock),
        ),
    )
    for name in ("image", "example.com/stubborn", "example.com/broken"):
        state.images.pull(name)
    return state


@pytest.fixture
def state() -> RuntimeState:
    """A strict one."""
    return state_of()


def run(state: RuntimeState, key: SandboxKey, **more: Any) -> Sandbox:
    """A new sandbox."""
    return state.sandboxes.run(NewSandbox(key=key, **more))


def create(state: RuntimeState, sandbox_id: str, key: ContainerKey, **more: Any) -> Container:
    """A new container."""
    return state.containers.create(NewContainer(sandbox_id=sandbox_id, key=key, **more))


@pytest.fixture
def key() -> SandboxKey:
    """Metadata of a pod."""
    return SandboxKey("pod", "default", "uid-1")
