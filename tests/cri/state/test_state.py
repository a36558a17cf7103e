"""The rules of sandboxes and containers, without a socket."""

from __future__ import annotations

import attrs
import pytest

from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import (
    Container,
    ContainerKey,
    ContainerState,
    SandboxKey,
    SandboxState,
    Wanted,
)
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith

ONE, TWO = ContainerKey("one"), ContainerKey("two")


@pytest.fixture
def sandbox_id(state: RuntimeState, key: SandboxKey) -> str:
    """A sandbox that is READY."""
    return state.run_sandbox(key).id


def running(state: RuntimeState, sandbox_id: str, key: ContainerKey = ONE) -> Container:
    """A container that runs."""
    container = state.create(sandbox_id, key, image="image")
    state.start(container.id)
    return state.container(container.id)


def test_a_sandbox_goes_from_ready_to_not_ready_to_gone(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-SB: stop and remove are repeated by kubelet, and succeed each time."""
    sandbox = state.run_sandbox(key, labels={"a": "b"})
    assert (sandbox.state, sandbox.created_at) == (SandboxState.READY, 1000)
    for _ in range(2):
        state.stop_sandbox(sandbox.id)
        stopped = state.sandbox(sandbox.id)
        assert (stopped.state, stopped.address) == (SandboxState.NOTREADY, "")
    for _ in range(2):
        state.remove_sandbox(sandbox.id)
        assert state.sandboxes() == []
    state.stop_sandbox(sandbox.id)
    with refused(Code.NOT_FOUND, sandbox.id):
        state.sandbox(sandbox.id)


def test_addresses_differ_and_the_hosts_network_has_none(
    state: RuntimeState, key: SandboxKey
) -> None:
    """CRI-SB-013, 015: kubelet makes podIPs of them."""
    keys = [attrs.evolve(key, attempt=number) for number in range(3)]
    first, second = (state.run_sandbox(each).address for each in keys[:2])
    assert first
    assert second not in ("", first)
    assert state.run_sandbox(keys[2], host_network=True).address == ""


def test_a_container_is_created_starts_ends_and_goes(
    state: RuntimeState, sandbox_id: str, refused: RefusedWith
) -> None:
    """CRI-CT-001, 015, 016: times are 0 for what has not come to pass, and a start is no retry."""
    container = state.create(sandbox_id, ONE, image="image")
    assert container.state is ContainerState.CREATED
    assert (container.started_at, container.finished_at) == (0, 0)
    state.start(container.id)
    with refused(Code.FAILED_PRECONDITION, "RUNNING"):
        state.start(container.id)
    state.exit(container.id, 3)
    ended = state.container(container.id)
    assert (ended.state, ended.exit_code, ended.reason) == (ContainerState.EXITED, 3, "Error")
    assert container.created_at < ended.started_at < ended.finished_at
    for _ in range(2):
        state.remove(container.id)
        assert state.containers() == []
    with refused(Code.NOT_FOUND):
        state.start(container.id)


@pytest.mark.parametrize(("timeout_s", "code"), [(5, 143), (0, 137), (-1, 137)])
def test_stop_ends_a_container_once(
    state: RuntimeState, sandbox_id: str, timeout_s: int, code: int
) -> None:
    """CRI: SIGTERM where there is time to obey, else SIGKILL; a second stop changes nothing."""
    container = running(state, sandbox_id)
    state.stop(container.id, timeout_s)
    stopped = state.container(container.id)
    assert (stopped.state, stopped.exit_code) == (ContainerState.EXITED, code)
    state.stop(container.id, timeout_s)
    assert state.container(container.id) == stopped
    state.stop("unknown", timeout_s)


def test_stop_leaves_a_created_container_alone(state: RuntimeState, sandbox_id: str) -> None:
    """CRI-CT-029."""
    container = state.create(sandbox_id, ONE, image="image")
    state.stop(container.id)
    assert state.container(container.id) == container


def test_only_what_runs_exits(state: RuntimeState, sandbox_id: str, refused: RefusedWith) -> None:
    """Whoever steers the fake is told that there was nothing to end."""
    container = state.create(sandbox_id, ONE, image="image")
    with refused(Code.FAILED_PRECONDITION, "CREATED", "only a process that runs"):
        state.exit(container.id)


def test_a_stopped_sandbox_has_killed_its_containers_and_takes_no_more(
    state: RuntimeState, sandbox_id: str, refused: RefusedWith
) -> None:
    """CRI-SB: they stay listed; also one that never ran cannot be started any more (SB-049)."""
    started, unstarted = running(state, sandbox_id), state.create(sandbox_id, TWO, image="image")
    state.stop_sandbox(sandbox_id)
    assert [each.state for each in state.containers()] == [ContainerState.EXITED] * 2
    assert state.container(started.id).exit_code == 137
    with refused(Code.FAILED_PRECONDITION):
        state.start(unstarted.id)
    with refused(Code.FAILED_PRECONDITION, "NOTREADY"):
        state.create(sandbox_id, ContainerKey("three"), image="image")


def test_a_removed_sandbox_takes_its_containers_with_it(
    state: RuntimeState, sandbox_id: str, key: SandboxKey
) -> None:
    """CRI: also those that run; those of other sandboxes stay."""
    running(state, sandbox_id)
    other = state.run_sandbox(attrs.evolve(key, uid="uid-2"))
    remaining = running(state, other.id)
    state.remove_sandbox(sandbox_id)
    assert state.containers() == [remaining]


def test_resources_change_until_the_end(
    state: RuntimeState, sandbox_id: str, refused: RefusedWith
) -> None:
    """UpdateContainerResources: a container that has ended has none to change."""
    container = state.create(sandbox_id, ONE, image="image", resources=1)
    state.update(container.id, lambda present: present + 1)
    assert state.container(container.id).resources == 2
    state.start(container.id)
    state.exit(container.id)
    with refused(Code.FAILED_PRECONDITION, "EXITED"):
        state.update(container.id, lambda present: present)


def test_each_container_ever_created_is_remembered(state: RuntimeState, sandbox_id: str) -> None:
    """A test wants to see what was sent for one that is long gone."""
    for attempt in range(3):
        container = state.create(
            sandbox_id, ContainerKey("one", attempt), image="image", config=attempt
        )
        state.remove(container.id)
    state.reboot()
    assert [each.config for each in state.created()] == [0, 1, 2]
    assert (state.sandboxes(), state.containers()) == ([], [])


def test_time_never_stands_still_or_goes_back() -> None:
    """Kubelet takes the newest sandbox by created_at, whatever the machine's clock does."""
    ticks = iter([50, 50, 7, 7, 60])
    state = RuntimeState(clock=lambda: next(ticks), ids=str)
    assert [state.now() for _ in range(5)] == [50, 51, 52, 53, 60]


def test_lists_are_in_the_order_of_creation_and_filtered(
    state: RuntimeState, key: SandboxKey
) -> None:
    """The filter's fields are joined by and."""
    first, second = (
        state.run_sandbox(attrs.evolve(key, attempt=attempt), labels={"n": str(attempt)})
        for attempt in range(2)
    )
    assert state.sandboxes() == [first, second]
    assert state.sandboxes(Wanted(labels={"n": "1"})) == [second]
    running_one = running(state, first.id)
    unstarted = state.create(second.id, ONE, image="image")
    assert state.containers() == [running_one, unstarted]
    assert state.containers(Wanted(state=1)) == [running_one]
    assert state.containers(Wanted(state=1, sandbox_id=second.id)) == []
