"""A server's threads: calls that wait never keep others from being served."""

import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from refimpl.wire.pool import Pool

WAIT_S = 10.0


@pytest.fixture
def pool() -> Iterator[Pool]:
    """One worker, so that whatever blocks it shows."""
    pool = Pool(1)
    yield pool
    pool.shutdown(WAIT_S)


def test_a_call_runs_with_its_arguments(pool: Pool) -> None:
    """grpc hands a function and what to call it with."""
    results: SimpleQueue[tuple[int, str]] = SimpleQueue()
    pool.submit(lambda number, text: results.put((number, text)), 1, "a")
    assert results.get(timeout=WAIT_S) == (1, "a")


def test_a_callback_comes_once_whether_added_before_or_after_the_end(pool: Pool) -> None:
    """grpc counts its calls with it."""
    called: SimpleQueue[str] = SimpleQueue()
    go = threading.Event()
    task = pool.submit(go.wait, WAIT_S)
    task.add_done_callback(lambda _task: called.put("early"))
    go.set()
    assert called.get(timeout=WAIT_S) == "early"
    task.add_done_callback(lambda _task: called.put("late"))
    assert called.get(timeout=WAIT_S) == "late"
    assert called.empty()


def test_threads_are_made_as_calls_come_and_stay_for_the_next() -> None:
    """Most servers of a test see one call at a time."""
    pool, go, finished = Pool(2), threading.Event(), SimpleQueue[int]()
    assert pool.alive == 0
    for number in range(5):
        pool.submit(finished.put, number)
        assert finished.get(timeout=WAIT_S) == number
    assert 1 <= pool.alive <= 2  # the next call may come before a thread is back
    for _ in range(5):
        pool.submit(go.wait, WAIT_S)
    assert pool.alive == 2
    go.set()
    pool.shutdown(WAIT_S)


def test_an_exception_is_shown_and_the_worker_goes_on(
    pool: Pool, capfd: pytest.CaptureFixture[str]
) -> None:
    """grpc catches what it can; a lost worker would be a server that slowly dies."""
    finished: SimpleQueue[str] = SimpleQueue()
    pool.submit(lambda: 1 / 0)
    pool.submit(finished.put, "still here")
    assert finished.get(timeout=WAIT_S) == "still here"
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_lent_thread_is_replaced_until_it_comes_back(pool: Pool) -> None:
    """This is how an open stream starves nobody."""
    go, finished = threading.Event(), SimpleQueue[str]()

    def wait() -> None:
        with pool.lent():
            go.wait(WAIT_S)
        finished.put("waited")

    waiting = [pool.submit(wait) for _ in range(3)]
    pool.submit(finished.put, "served")
    assert finished.get(timeout=WAIT_S) == "served"
    assert pool.alive == 1 + len(waiting)
    go.set()
    assert [finished.get(timeout=WAIT_S) for _ in waiting] == ["waited"] * 3


def test_the_number_of_lent_threads_is_bounded() -> None:
    """A client that hammers against a fault which holds calls must not eat the machine."""
    pool = Pool(1, most_lent=1)
    go, finished = threading.Event(), SimpleQueue[str]()

    def wait() -> None:
        with pool.lent():
            finished.put("waits")
            go.wait(WAIT_S)

    for _ in range(3):
        pool.submit(wait)
    assert [finished.get(timeout=WAIT_S) for _ in range(2)] == ["waits", "waits"]
    assert pool.alive == 2
    go.set()
    assert finished.get(timeout=WAIT_S) == "waits"
    pool.shutdown(WAIT_S)


def test_shutdown_ends_every_thread_after_what_was_queued() -> None:
    """A fake that stops leaves no thread behind."""
    pool, finished = Pool(3), SimpleQueue[int]()
    for number in range(10):
        pool.submit(finished.put, number)
    pool.shutdown(WAIT_S)
    assert pool.alive == 0
    assert sorted(finished.get_nowait() for _ in range(10)) == list(range(10))


def test_shutdown_does_not_wait_for_a_thread_that_never_comes_back() -> None:
    """An implementation that ignores cancelling must not hang the test run."""
    pool, go, in_call = Pool(1), threading.Event(), threading.Event()

    def stuck() -> None:
        in_call.set()
        go.wait(WAIT_S)

    pool.submit(stuck)
    assert in_call.wait(WAIT_S)
    pool.shutdown()
    assert pool.alive == 1
    go.set()


def test_a_pool_can_end_while_a_worker_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that stops in the middle of a call: no thread is seen before it is started."""
    pool = Pool(1)
    real, unseen = threading.Thread.start, []

    def start(thread: threading.Thread) -> None:
        unseen.append(pool._lock.locked())
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    pool.submit(lambda: None)
    pool.shutdown(WAIT_S)
    assert unseen == [True]
