"""Guards: one call at a time for a key, others go on."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from refimpl.csi.state.guard import Guards
from refimpl.wire.status import Code


def test_a_held_key_makes_others_wait() -> None:
    """Two calls on one volume must not let the storage work on it at the same time."""
    guards, entered, order = Guards(), threading.Event(), list[str]()

    def second() -> None:
        entered.set()
        with guards.hold("v"):
            order.append("second")

    with guards.hold("v"):
        thread = threading.Thread(target=second)
        thread.start()
        assert entered.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_other_keys_are_free() -> None:
    """A slow volume must not block the others."""
    guards = Guards()
    with guards.hold("v"), guards.hold("w"):
        assert guards.busy == {"v", "w"}
    assert guards.busy == set()


def test_a_key_may_be_named_twice_in_one_call() -> None:
    """The source of a clone can be named by several fields."""
    guards = Guards()
    with guards.hold("v", "v"):
        assert guards.busy == {"v"}
    assert guards.busy == set()


def test_aborting_tells_the_caller_to_come_again(refused: Any) -> None:
    """The other behaviour the specification allows."""
    guards = Guards("abort")
    with guards.hold("v"), refused(Code.ABORTED, "later"), guards.hold("w", "v"):
        pytest.fail("two calls hold one key")
    assert guards.busy == set()


def test_an_error_gives_the_keys_back() -> None:
    """Otherwise the volume could never be used again."""
    guards = Guards()
    with pytest.raises(OSError, match="disk"), guards.hold("v"):
        raise OSError("disk")
    assert guards.busy == set()


def test_many_calls_on_overlapping_keys_all_come_through() -> None:
    """Keys are taken all at once: no two calls can wait for each other."""
    guards, count = Guards(), [0]

    def work(keys: tuple[str, ...]) -> None:
        for _ in range(200):
            with guards.hold(*keys):
                count[0] += 1

    rounds = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]
    threads = [threading.Thread(target=work, args=(keys,)) for keys in rounds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert guards.busy == set()
