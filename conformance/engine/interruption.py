"""How a run ends when it is told to: the first time it cleans up, the second time it is over."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

from conformance.engine.ledger import processes, sweep
from conformance.engine.options import INTERRUPTED, Options

__all__ = ["interruptible"]

# `timeout` of GNU tells its command, and then the group that this is in: that is once.
_ONCE_S = 0.5


@contextlib.contextmanager
def interruptible(options: Options) -> Iterator[None]:
    """While inside, SIGTERM, with which CI systems end a job, and SIGHUP, which a closed terminal
    sends, clean up and write the reports as Ctrl-C does. A second signal ends the run at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what a signal does
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
        numbers.append(signal.SIGHUP)
    interruption = _Interruption(options)
    before = {number: signal.signal(number, interruption) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Interruption:
    """What a signal does."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._first: float | None = None

    def __call__(self, *_: object) -> None:
        """Raises KeyboardInterrupt for the first signal, does not return from the second."""
        now = time.monotonic()
        if self._first is None:
            self._first = now
            raise KeyboardInterrupt
        if now - self._first > _ONCE_S:
            end_at_once(self._options)


def end_at_once(options: Options) -> None:
    """Kills all that the run has started, says what stays and how to remove it, and exits."""
    for pid in processes.marked(options.run_id):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    left = [path for path in sweep.ledgers() if f"-{options.run_id}-" in path.name]
    commands = dict.fromkeys(map(sweep.command_of, left))
    told = f"; it leaves what {' and '.join(commands)} removes" if commands else ""
    print(f"\nrefimpl: ended at once{told}", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)
