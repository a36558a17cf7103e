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
from tests.cri.conftest import RefusedWith, create, run

ONE, TWO = ContainerKey("one"), ContainerKey("two")


@pytest.fixture
def sandbox_id(state: RuntimeState, key: SandboxKey) -> str:
    """A sandbox that is READY."""
    return run(state, key).id


def running(state: RuntimeState, sandbox_id: str, key: ContainerKey = ONE) -> Container:
    """A container that runs."""
    container = create(state, sandbox_id, key, image="image")
    state.containers.start(container.id)
    return state.containers.get(container.id)


def test_a_sandbox_goes_from_ready_to_not_ready_to_gone(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-SB: stop and remove are repeated by kubelet, and succeed each time."""
    sandbox = run(state, key, labels={"a": "b"})
    assert (sandbox.state, sandbox.created_at) == (SandboxState.READY, 1000)
    for _ in range(2):
        state.sandboxes.stop(sandbox.id)
        stopped = state.sandboxes.get(sandbox.id)
        assert (stopped.state, stopped.addresses) == (SandboxState.NOTREADY, ())
    for _ in range(2):
        state.sandboxes.remove(sandbox.id)
        assert state.sandboxes.select() == []
    state.sandboxes.stop(sandbox.id)
    with refused(Code.NOT_FOUND, sandbox.id):
        state.sandboxes.get(sandbox.id)


def test_addresses_differ_and_the_hosts_network_has_none(
    state: RuntimeState, key: SandboxKey
) -> None:
    """CRI-SB-013, 015: kubelet makes podIPs of them."""
    keys = [attrs.evolve(key, attempt=number) for number in range(3)]
    first, second = (run(state, each).addresses for each in keys[:2])
    assert first
    assert second not in ((), first)
    assert run(state, keys[2], host_network=True).addresses == ()


def test_a_container_is_created_starts_ends_and_goes(
    state: RuntimeState, sandbox_id: str, refused: RefusedWith
) -> None:
    """CRI-CT-001, 015, 016: times are 0 for what has not come to pass, and a start is no retry."""
    container = create(state, sandbox_id, ONE, image="image")
    assert container.state is ContainerState.CREATED
    assert (container.started_at, container.finished_at) == (0, 0)
    state.containers.start(container.id)
    with refused(Code.FAILED_PRECONDITION, "RUNNING"):
        state.containers.start(container.id)
    state.containers.exit(container.id, 3)
    ended = state.containers.get(container.id)
    assert (ended.state, ended.exit_code, ended.reason) == (ContainerState.EXITED, 3, "Error")
    assert container.created_at < ended.started_at < ended.finished_at
    for _ in range(2):
        state.containers.remove(container.id)
        assert state.containers.select() == []
    with refused(Code.NOT_FOUND):
        state.containers.start(container.id)


@pytest.mark.parametrize(("timeout_s", "code"), [(5, 143), (0, 137), (-1, 137)])
def test_stop_ends_a_container_once(
    state: RuntimeState, sandbox_id: str, timeout_s: int, code: int
) -> None:
    """CRI: SIGTERM where there is time to obey, else SIGKILL; a second stop changes nothing."""
    container = running(state, sandbox_id)
    state.containers.stop(container.id, timeout_s)
    stopped = state.containers.get(container.id)
    assert (stopped.state, stopped.exit_code) == (ContainerState.EXITED, code)
    state.containers.stop(container.id, timeout_s)
    assert state.containers.get(container.id) == stopped
    state.containers.stop("unknown", timeout_s)


def test_stop_leaves_a_created_container_alone(state: RuntimeState, sandbox_id: str) -> None:
    """CRI-CT-029."""
    container = create(state, sandbox_id, ONE, image="image")
    state.containers.stop(container.id)
    assert state.containers.get(container.id) == container


def test_only_what_runs_exits(state: RuntimeState, sandbox_id: str, refused: RefusedWith) -> None:
    """Whoever steers the fake is told that there was nothing to end."""
    container = create(state, sandbox_id, ONE, image="image")
    with refused(Code.FAILED_PRECONDITION, "CREATED", "only a process that runs"):
        state.containers.exit(container.id)


def test_a_stopped_sandbox_has_killed_its_containers_and_takes_no_more(
    state: RuntimeState, sandbox_id: str, refused: RefusedWith
) -> None:
    """CRI-SB: they stay listed; also one that never ran cannot be started any more (SB-049)."""
    started, unstarted = running(state, sandbox_id), create(state, sandbox_id, TWO, image="image")
    state.sandboxes.stop(sandbox_id)
    assert [each.state for each in state.containers.select()] == [ContainerState.EXITED] * 2
    assert state.containers.get(started.id).exit_code == 137
    with refused(Code.FAILED_PRECONDITION):
        state.containers.start(unstarted.id)
    with refused(Code.FAILED_PRECONDITION, "NOTREADY"):
        create(state, sandbox_id, ContainerKey("three"), image="image")


def test_a_removed_sandbox_takes_its_containers_with_it(
    state: RuntimeState, sandbox_id: str, key: SandboxKey
) -> None:
    """CRI: also those that run; those of other sandboxes stay."""
    running(state, sandbox_id)
    other = run(state, attrs.evolve(key, uid="uid-2"))
    remaining = running(state, other.id)
    state.sandboxes.remove(sandbox_id)
    assert state.containers.select() == [remaining]


def test_resources_change_until_the_end(
    state: RuntimeState, sandbox_id: str, refused: RefusedWith
) -> None:
    """UpdateContainerResources: a container that has ended has none to change."""
    container = create(state, sandbox_id, ONE, image="image", resources=1)
    state.containers.update(container.id, lambda present: present + 1)
    assert state.containers.get(container.id).resources == 2
    state.containers.start(container.id)
    state.containers.exit(container.id)
    with refused(Code.FAILED_PRECONDITION, "EXITED"):
        state.containers.update(container.id, lambda present: present)


def test_each_container_ever_created_is_remembered(state: RuntimeState, sandbox_id: str) -> None:
    """A test wants to see what was sent for one that is long gone."""
    for attempt in range(3):
        container = create(state, sandbox_id, ContainerKey("one", attempt), image="image")
        state.containers.remove(container.id)
    state.reboot()
    assert [each.key.attempt for each in state.containers.created()] == [0, 1, 2]
    assert (state.sandboxes.select(), state.containers.select()) == ([], [])


def test_time_never_stands_still_or_goes_back(
    state: RuntimeState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kubelet takes the newest sandbox by created_at, whatever the machine's clock does."""
    ticks = iter([2050, 2050, 7, 7, 2060])
    monkeypatch.setattr(state.ports.clock, "now", lambda: next(ticks))
    assert [state.now() for _ in range(5)] == [2050, 2051, 2052, 2053, 2060]


def test_lists_are_in_the_order_of_creation_and_filtered(
    state: RuntimeState, key: SandboxKey
) -> None:
    """The filter's fields are joined by and."""
    first, second = (
        run(state, attrs.evolve(key, attempt=attempt), labels={"n": str(attempt)})
        for attempt in range(2)
    )
    assert state.sandboxes.select() == [first, second]
    assert state.sandboxes.select(Wanted(labels={"n": "1"})) == [second]
    running_one = running(state, first.id)
    unstarted = create(state, second.id, ONE, image="image")
    assert state.containers.select() == [running_one, unstarted]
    assert state.containers.select(Wanted(state=1)) == [running_one]
    assert state.containers.select(Wanted(state=1, sandbox_id=second.id)) == []
