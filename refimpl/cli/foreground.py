"""What commands have in common that serve until they are interrupted."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from refimpl import files
from refimpl.cli.errors import Usage

if TYPE_CHECKING:
    from refimpl.wire.faults import Faults
    from refimpl.wire.journal import Journal

F = TypeVar("F", bound=Callable[..., object])

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_RECORDED = (
    click.option("--faults", "faults_file", metavar="FILE", help="YAML file of fault rules."),
    click.option("--journal", "journal_file", metavar="FILE", help="Append each call, as JSON."),
    click.option("--control", metavar="ENDPOINT", help="Serve journal and faults over HTTP."),
)
_REMOTE = click.option("--allow-remote", is_flag=True, help="Let tcp:// be other than loopback.")


def recorded_options(function: F) -> F:
    """Adds --faults, --journal and --control to a command."""
    for option in reversed(_RECORDED):
        function = option(function)
    return function


def shared_options(function: F) -> F:
    """Adds --faults, --journal, --control and --allow-remote to a command."""
    return recorded_options(_REMOTE(function))


@contextmanager
def interruption() -> Iterator[Callable[[], None]]:
    """Gives a function that returns once SIGINT, SIGTERM or SIGHUP has come; inside, none of them
    ends anything.

    The wait is over whichever thread the system delivers the signal to.
    """
    waiting, signalled = socket.socketpair()
    with waiting, signalled:
        signalled.setblocking(False)
        wakeup = signal.set_wakeup_fd(signalled.fileno(), warn_on_full_buffer=False)
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # as under nohup
        caught = [each for each in _SIGNALS if not (ignored and each == signal.SIGHUP)]
        handlers = {number: signal.signal(number, lambda *_: None) for number in caught}
        try:
            yield lambda: _wait(waiting)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakeup)


@contextmanager
def refusals(*kinds: type[Exception]) -> Iterator[None]:
    """Ends the command with exit code 4 and the sentence of an error of one of these kinds."""
    try:
        yield
    except kinds as error:
        raise Usage(str(error)) from error


def opened_journal(path: str | None) -> Journal:
    """A journal, in a file if one is named. Raises Usage if it cannot be written."""
    from refimpl.wire.journal import Journal

    if path is None:
        return Journal()
    try:
        os.close(files.append(path))
    except OSError as error:
        raise Usage(f"--journal {path}: {error.strerror}") from error
    return Journal(Path(path))


def loaded_faults(path: str | None, journal: Journal) -> Faults:
    """The rules of a file. Raises Usage if there is none, or if it is wrong.

    A crash brings the journal up to date before it ends the process: it is the observer's.
    """
    from refimpl.wire.faults import FaultError, Faults
    from refimpl.wire.faults.document import LARGEST_TEXT

    def crash(code: int) -> None:
        journal.flush()
        os._exit(code)

    try:
        text = files.read(path, largest=LARGEST_TEXT) if path else b""
        return Faults.from_yaml(text, exit=crash)
    except OSError as error:
        raise Usage(f"--faults {path}: {error.strerror}") from error
    except FaultError as error:
        raise Usage(f"--faults {path}: {error}") from error


def _wait(waiting: socket.socket) -> None:
    while not set(waiting.recv(64)) & set(_SIGNALS):
        pass
