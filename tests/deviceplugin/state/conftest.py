"""One kubelet's state for tests: a clock set by hand, canned answers, a list of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import pytest

from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.state import DeviceState
from refimpl.deviceplugin.state.effects import (
    Allocate,
    Effect,
    GetPreferredAllocation,
    PreStartContainer,
    WriteCheckpoint,
)
from refimpl.deviceplugin.state.endpoints import Connection
from refimpl.deviceplugin.state.merge import TopologyPolicy
from refimpl.deviceplugin.state.models import (
    Admission,
    Container,
    ContainerResponse,
    Device,
    PluginOptions,
    Pod,
)
from refimpl.wire.status import Code, Refused

R = "example.com/gpu"
BROKEN = Refused(Code.INTERNAL, "the device does not answer")


@attrs.define
class Clock:
    """Time that passes only when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class StateRig:
    """A state, and short words for what tests do to it. Answers may be exceptions to be raised."""

    def __init__(
        self,
        profile: str = "1.37",
        policy: TopologyPolicy | None = None,
        gates: dict[str, bool] | None = None,
        settings: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.clock = Clock()
        self.notes: list[str] = []
        self.calls: list[Effect] = []
        self.preferred: list[Any] = []
        self.allocated: list[Any] = []
        self.pre_started: list[Any] = []
        self.written: list[Any] = []
        self.during_allocate: Callable[[], object] = lambda: None
        chosen = attrs.evolve(settings_of(profile, gates), **settings or {})
        self.state = DeviceState(
            chosen, clock=self.clock, policy=policy, note=self.notes.append, **more
        )
        self.tables = self.state.tables

    def plugin(
        self,
        devices: Iterable[Device | str] = (),
        *,
        resource: str = R,
        socket: str = "a.sock",
        preferred: bool = False,
        pre_start: bool = False,
    ) -> Connection:
        """Register a plugin and take its first list."""
        connection = self.tables.endpoints.register(resource, socket)
        assert connection is not None
        self.tables.endpoints.connect(connection, PluginOptions(pre_start, preferred))
        self.lists(devices, resource=resource)
        return connection

    def lists(self, devices: Iterable[Device | str], resource: str = R) -> tuple[str, ...]:
        """A ListAndWatch message; a word is a healthy device without topology."""
        entries = [Device(entry) if isinstance(entry, str) else entry for entry in devices]
        return self.tables.listed(resource, entries)

    def counts(self, resource: str = R) -> tuple[int, int] | None:
        """Capacity and allocatable of a resource, None if the count does not name it."""
        counted = self.state.count()
        if resource not in counted.capacity:
            return None
        return counted.capacity[resource], counted.allocatable[resource]

    def admit(self, pod: Pod) -> Admission:
        return self.state.run(self.state.admissions.admit(pod), self.answer)

    def start(self, pod: Pod, container: Container) -> Sequence[ContainerResponse]:
        return self.state.run(self.state.admissions.start(pod, container), self.answer)

    def answer(self, effect: Effect) -> object:
        self.calls.append(effect)
        match effect:
            case GetPreferredAllocation():
                return _next(self.preferred, ())
            case Allocate():
                self.during_allocate()
                return _next(self.allocated, (ContainerResponse(),))
            case PreStartContainer():
                return _next(self.pre_started, None)
            case WriteCheckpoint():
                return _next(self.written, None)

    def effects(self, kind: type[Any]) -> list[Any]:
        return [call for call in self.calls if isinstance(call, kind)]

    def ids(self, uid: str, container: str, resource: str = R) -> set[str]:
        record = self.tables.records.get(uid, container, resource)
        return set(record.ids) if record else set()

    def in_use(self, resource: str = R) -> set[str]:
        return set(self.tables.in_use.get(resource, set()))


def _next(answers: list[Any], default: object) -> object:
    answer = answers.pop(0) if answers else default
    if isinstance(answer, Exception):
        raise answer
    return answer


def pod_of(uid: str, *counts: int, resource: str = R, **more: Any) -> Pod:
    """A pod with an app container c0, c1, ... for each count."""
    containers = (Container(f"c{i}", {resource: n}) for i, n in enumerate(counts))
    return Pod(uid, tuple(containers), **more)


@pytest.fixture
def rig() -> StateRig:
    """A kubelet of 1.37 without a topology policy."""
    return StateRig()


@pytest.fixture
def kubelet() -> type[StateRig]:
    """To be called with a profile and whatever else this kubelet is made of."""
    return StateRig


@pytest.fixture(name="pod_of")
def _pod_of() -> Callable[..., Pod]:
    return pod_of


@pytest.fixture
def broken() -> Refused:
    """What a plugin answers that does not work."""
    return BROKEN
