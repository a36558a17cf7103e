"""The table of what may become of a container."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest

from refimpl.cri.state.lifecycle import CONTAINER, ContainerEvent, after, reason_of
from refimpl.cri.state.models import Container, ContainerKey, ContainerState, Image, SandboxKey
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith

EVENTS: tuple[ContainerEvent, ...] = get_args(ContainerEvent)
PAIRS = list(itertools.product(ContainerState, EVENTS))


def container(state: ContainerState, key: SandboxKey) -> Container:
    """One in that state."""
    image = Image("sha256:1", 1)
    return Container(
        *("id", key, "sandbox", "", ContainerKey("one"), None, {}, image, "image", 1), state=state
    )


@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_what_is_not_in_the_table_is_refused(
    state: ContainerState, event: ContainerEvent, key: SandboxKey, refused: RefusedWith
) -> None:
    """Each pair of a state and an event has one answer."""
    if (state, event) in CONTAINER:
        assert after(container(state, key), event) is CONTAINER[state, event]
        return
    with refused(Code.FAILED_PRECONDITION, event, state.name):
        after(container(state, key), event)


def test_nothing_runs_again_and_whatever_there_is_can_be_stopped() -> None:
    """CRI 1.6: EXITED is final, and StopContainer works in each state, also in UNKNOWN."""
    final = {to for (state, _), to in CONTAINER.items() if state is ContainerState.EXITED}
    assert final == {ContainerState.EXITED}
    for event in ("stop", "sandbox stop"):
        assert {state for state, on in CONTAINER if on == event} == set(ContainerState)


def test_reasons_are_those_of_the_runtimes() -> None:
    """Kubelet shows them."""
    assert (reason_of(0), reason_of(2)) == ("Completed", "Error")
