"""What new sandboxes and containers must fulfil."""

from __future__ import annotations

import attrs
import pytest

from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import ContainerKey, SandboxKey
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith


@pytest.mark.parametrize("words", [("", "n", "u"), ("p", "", "u"), ("p", "n", "")])
def test_a_sandbox_needs_all_of_its_metadata(
    state: RuntimeState, refused: RefusedWith, words: tuple[str, str, str]
) -> None:
    """CRI-SB-002: and nothing of it is listed."""
    with refused(Code.INVALID_ARGUMENT, "name, namespace and uid"):
        state.run_sandbox(SandboxKey(*words))
    assert state.sandboxes() == []


def test_an_unknown_handler_is_refused(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-SB-003, 005."""
    with refused(Code.INVALID_ARGUMENT, "kata", "other"):
        state.run_sandbox(key, handler="kata")
    assert state.run_sandbox(key, handler="other").handler == "other"


def test_a_sandbox_holds_its_name_until_it_is_removed(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-SB-006 to 009, 074: the next attempt and another pod are no rivals."""
    first = state.run_sandbox(key)
    for _ in range(2):
        with refused(Code.FAILED_PRECONDITION, first.id):
            state.run_sandbox(key)
        state.stop_sandbox(first.id)
    state.run_sandbox(attrs.evolve(key, attempt=1))
    state.run_sandbox(attrs.evolve(key, uid="uid-2"))
    state.remove_sandbox(first.id)
    assert state.run_sandbox(key).id != first.id


def test_a_container_holds_its_name_in_its_sandbox(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-CT-003, 006 to 008."""
    sandbox, other = state.run_sandbox(key), state.run_sandbox(attrs.evolve(key, attempt=1))
    one = ContainerKey("one")
    first = state.create(sandbox.id, one, image="image")
    with refused(Code.FAILED_PRECONDITION, first.id):
        state.create(sandbox.id, one, image="image")
    state.create(sandbox.id, ContainerKey("one", 1), image="image")
    state.create(other.id, one, image="image")
    state.remove(first.id)
    assert state.create(sandbox.id, one, image="image").id != first.id


def test_a_container_needs_a_name_an_image_and_a_sandbox(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-CT-003, 005: nothing of it is listed or remembered."""
    sandbox_id = state.run_sandbox(key).id
    with refused(Code.INVALID_ARGUMENT, "metadata.name"):
        state.create(sandbox_id, ContainerKey(""), image="image")
    with refused(Code.INVALID_ARGUMENT, "image"):
        state.create(sandbox_id, ContainerKey("one"), image="")
    with refused(Code.NOT_FOUND, "sandbox"):
        state.create("unknown", ContainerKey("one"), image="image")
    assert (state.containers(), state.created()) == ([], [])
