"""Time, real and held in the hand."""

from __future__ import annotations

import threading
import time

from refimpl.cri.clocks import ManualClock, SystemClock


def test_a_held_clock_calls_in_order_while_it_is_advanced() -> None:
    """Also what is asked for meanwhile; what was cancelled is not called."""
    clock, called = ManualClock(0), list[tuple[str, int]]()

    def call(name: str) -> None:
        called.append((name, clock.now()))

    clock.call_later(2, lambda: call("late"))
    clock.call_later(1, lambda: (call("early"), clock.call_later(0.5, lambda: call("next"))))
    clock.call_later(1, lambda: call("never"))()
    clock.advance(1.75)
    assert called == [("early", 10**9), ("next", 1_500_000_000)]
    clock.advance(1)
    assert called[2:] == [("late", 2 * 10**9)]
    assert clock.now() == 2_750_000_000


def test_the_clock_of_the_machine_calls_what_is_due_first() -> None:
    """One that comes later with less to wait is not kept waiting."""
    clock, called, done = SystemClock(), list[str](), threading.Event()
    clock.call_later(60, lambda: called.append("never"))
    clock.call_later(0.02, lambda: (called.append("second"), done.set()))
    clock.call_later(0, lambda: called.append("first"))
    assert done.wait(10)
    assert called == ["first", "second"]
    assert abs(clock.now() - time.time_ns()) < 10**9
    clock.close()  # or its thread waits for what never comes


def test_a_clock_that_is_closed_calls_nothing_any_more_and_its_thread_ends() -> None:
    before = set(threading.enumerate())
    clock, called = SystemClock(), list[str]()
    clock.call_later(60, lambda: called.append("late"))
    (thread,) = set(threading.enumerate()) - before
    clock.close()
    thread.join(10)
    assert not thread.is_alive()
    assert called == []
