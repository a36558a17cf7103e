"""A run ends cleanly when it is told to, and at once when it is told again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from conformance.engine import interruption
from conformance.engine.interruption import interruptible
from conformance.engine.options import Options
from refimpl.wire.polling import VARIABLES

OPTIONS = Options(interface="csi", run_id="none-such")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_interrupts_and_the_handlers_come_back(number: signal.Signals) -> None:
    """Whichever it is that asks for the end."""
    before = signal.getsignal(number)
    if before is signal.SIG_IGN:
        pytest.skip("this process was told to ignore it")
    with pytest.raises(KeyboardInterrupt), interruptible(OPTIONS):
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_a_second_signal_at_once_is_the_first_one_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some who end a process tell its group as well."""
    over: list[Options] = []
    monkeypatch.setattr(interruption, "end_at_once", over.append)
    monkeypatch.setattr(interruption, "_ONCE_S", 60.0)
    with interruptible(OPTIONS):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert not over
        monkeypatch.setattr(interruption, "_ONCE_S", 0.0)
        signal.raise_signal(signal.SIGTERM)
    assert over == [OPTIONS]


def test_nothing_is_said_of_a_run_that_leaves_nothing() -> None:
    """It ends with 2, whatever it was doing."""
    code = (
        "from conformance.engine.interruption import end_at_once\n"
        "from conformance.engine.options import Options\n"
        "end_at_once(Options(interface='csi', run_id='none-such'))"
    )
    inherited = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=inherited, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.strip() == "refimpl: ended at once"


def test_another_thread_says_nothing_of_signals() -> None:
    """The program that it belongs to does."""
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def run() -> None:
        with interruptible(OPTIONS):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
