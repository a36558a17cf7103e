"""What new sandboxes and containers must fulfil."""

from __future__ import annotations

import attrs
import pytest

from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import ContainerKey, SandboxKey
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith, create, run


@pytest.mark.parametrize("words", [("", "n", "u"), ("p", "", "u"), ("p", "n", "")])
def test_a_sandbox_needs_all_of_its_metadata(
    state: RuntimeState, refused: RefusedWith, words: tuple[str, str, str]
) -> None:
    """CRI-SB-002: and nothing of it is listed."""
    with refused(Code.INVALID_ARGUMENT, "name, namespace and uid"):
        run(state, SandboxKey(*words))
    assert state.sandboxes.select() == []


def test_an_unknown_handler_is_refused(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-SB-003, 005."""
    with refused(Code.INVALID_ARGUMENT, "kata", "other"):
        run(state, key, handler="kata")
    assert run(state, key, handler="other").handler == "other"


def test_a_sandbox_holds_its_name_until_it_is_removed(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-SB-006 to 009, 074: the next attempt and another pod are no rivals."""
    first = run(state, key)
    for _ in range(2):
        with refused(Code.FAILED_PRECONDITION, first.id):
            run(state, key)
        state.sandboxes.stop(first.id)
    run(state, attrs.evolve(key, attempt=1))
    run(state, attrs.evolve(key, uid="uid-2"))
    state.sandboxes.remove(first.id)
    assert run(state, key).id != first.id


def test_a_container_holds_its_name_in_its_sandbox(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-CT-003, 006 to 008."""
    sandbox, other = run(state, key), run(state, attrs.evolve(key, attempt=1))
    one = ContainerKey("one")
    first = create(state, sandbox.id, one, image="image")
    with refused(Code.FAILED_PRECONDITION, first.id):
        create(state, sandbox.id, one, image="image")
    create(state, sandbox.id, ContainerKey("one", 1), image="image")
    create(state, other.id, one, image="image")
    state.containers.remove(first.id)
    assert create(state, sandbox.id, one, image="image").id != first.id


def test_a_container_needs_a_name_an_image_and_a_sandbox(
    state: RuntimeState, key: SandboxKey, refused: RefusedWith
) -> None:
    """CRI-CT-003, 005: nothing of it is listed or remembered."""
    sandbox_id = run(state, key).id
    with refused(Code.INVALID_ARGUMENT, "metadata.name"):
        create(state, sandbox_id, ContainerKey(""), image="image")
    with refused(Code.INVALID_ARGUMENT, "image"):
        create(state, sandbox_id, ContainerKey("one"), image="")
    with refused(Code.NOT_FOUND, "sandbox"):
        create(state, "unknown", ContainerKey("one"), image="image")
    assert (state.containers.select(), state.containers.created()) == ([], [])
