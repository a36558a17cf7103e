"""What the state does about processes that take their time, fail, or end by themselves."""

from __future__ import annotations

import threading

import pytest

from refimpl.cri.clocks import ManualClock
from refimpl.cri.state import RuntimeSettings, RuntimeState
from refimpl.cri.state.models import ContainerKey, ContainerState, SandboxKey
from refimpl.cri.state.tables import Changed
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith, create, run, state_of

STUBBORN, BROKEN = "example.com/stubborn", "example.com/broken"


def clock_of(state: RuntimeState) -> ManualClock:
    """The one that a test holds in its hands."""
    clock = state.ports.clock
    assert isinstance(clock, ManualClock)
    return clock


def started(state: RuntimeState, sandbox_id: str, image: str, attempt: int = 0) -> str:
    """The id of a container that runs."""
    id = create(state, sandbox_id, ContainerKey("one", attempt), image=image).id
    state.containers.start(id)
    return id


def test_one_that_ignores_its_signal_is_killed_when_its_time_is_over(
    state: RuntimeState, key: SandboxKey
) -> None:
    """CRI-CT-026; and the second stop, which has less patience, ends both (CT-033)."""
    id = started(state, run(state, key).id, STUBBORN)
    waits = [threading.Thread(target=state.containers.stop, args=(id, limit)) for limit in (60, 2)]
    scheduled = threading.Semaphore(0)
    clock = clock_of(state)
    whole = clock.call_later

    def call_later(*arguments: object) -> object:
        cancel = whole(*arguments)  # type: ignore[arg-type]
        scheduled.release()
        return cancel

    clock.call_later = call_later  # type: ignore[method-assign, assignment]
    for wait in waits:
        wait.start()
        assert scheduled.acquire(timeout=10)
    clock.advance(1)
    assert state.containers.get(id).state is ContainerState.RUNNING
    clock.advance(1)
    for wait in waits:
        wait.join(10)
        assert not wait.is_alive()
    assert state.containers.get(id).exit_code == 137


def test_a_caller_that_is_gone_kills_nothing(state: RuntimeState, key: SandboxKey) -> None:
    """CRI-CT-034: the grace was given for the container, and the next stop counts."""

    class Gone:
        def waiting(self) -> threading.Lock:
            return threading.Lock()

        def cancelled(self) -> bool:
            return True

        def on_cancel(self, callback: object) -> None:
            assert callable(callback)
            callback()

    id = started(state, run(state, key).id, STUBBORN)
    state.containers.stop(id, 60, Gone())  # type: ignore[arg-type]
    assert state.containers.get(id).state is ContainerState.RUNNING
    state.containers.stop(id)
    assert state.containers.get(id).state is ContainerState.EXITED


@pytest.mark.parametrize(("profile", "left"), [("containerd", 1), ("crio", 0)])
def test_one_that_cannot_be_started_has_exited_or_is_gone(
    key: SandboxKey, refused: RefusedWith, profile: str, left: int
) -> None:
    """CRI-CT-018, D7: in no profile does it run."""
    state = state_of(RuntimeSettings.of(profile))
    id = create(state, run(state, key).id, ContainerKey("one"), image=BROKEN).id
    with refused(Code.UNKNOWN, "no"):
        state.containers.start(id)
    ended = state.containers.select()
    assert len(ended) == left
    for container in ended:
        assert (container.state, container.exit_code) == (ContainerState.EXITED, 128)
        assert (container.reason, container.message) == ("StartError", "no")


def test_of_several_starts_one_is_right(state: RuntimeState, key: SandboxKey) -> None:
    """CRI-CC-004: the others are refused, and one process runs."""
    id = create(state, run(state, key).id, ContainerKey("one"), image="image").id
    refusals: list[Exception] = []

    def start() -> None:
        try:
            state.containers.start(id)
        except Exception as error:
            refusals.append(error)

    threads = [threading.Thread(target=start) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(refusals) == 4
    assert state.containers.get(id).state is ContainerState.RUNNING


@pytest.mark.parametrize(("profile", "same"), [("strict", False), ("crio", True)])
def test_the_same_metadata_twice_are_refused_or_the_same(
    key: SandboxKey, refused: RefusedWith, profile: str, same: bool
) -> None:
    """D4, D5."""
    state = state_of(RuntimeSettings.of(profile))
    first = run(state, key)
    one = create(state, first.id, ContainerKey("one"), image="image")
    if same:
        assert run(state, key).id == first.id
        assert create(state, first.id, ContainerKey("one"), image="image").id == one.id
        return
    with refused(Code.FAILED_PRECONDITION, first.id):
        run(state, key)
    with refused(Code.FAILED_PRECONDITION, one.id):
        create(state, first.id, ContainerKey("one"), image="image")


def test_listeners_hear_of_each_change_in_order(state: RuntimeState, key: SandboxKey) -> None:
    """CRI-EV-001: created, started, stopped, deleted, of the container and of its sandbox."""
    heard: list[tuple[Changed, bool]] = []
    leave = state.core.listen(lambda change: heard.append((change.what, bool(change.container_id))))
    sandbox = run(state, key)
    id = started(state, sandbox.id, "image")
    state.containers.stop(id)
    state.containers.remove(id)
    state.sandboxes.remove(sandbox.id)
    leave()
    run(state, key)
    assert [what for what, container in heard if container] == list(Changed)
    assert [what for what, container in heard if not container] == list(Changed)
