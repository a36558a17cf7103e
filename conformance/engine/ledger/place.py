"""What a run has on this machine while it lasts: a folder for all temporary ones, and a mark on all
that it starts. Both are on record before they are there, so that a sweep finds what a killed run
left, whoever made it: a case, a fake, a driver, pytest.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance.engine.ledger import mounts, processes, sweep
from conformance.engine.ledger.entries import FOLDER, Ledger
from conformance.engine.ledger.file import UnreadableLedger
from conformance.engine.options import BadOption, Options

__all__ = ["run_place"]


@contextlib.contextmanager
def run_place(options: Options) -> Iterator[Path]:
    """The folder, in which temporary ones are made inside of this; also by processes that are
    started here. At its end processes and folder go.

    Raises BadOption where there can be none.
    """
    path = sweep.run_ledger_path(options.interface, options.named_target, options.run_id)
    ledger = Ledger(path, options.named_target)
    try:
        ledger.making(processes.PROCESSES, options.run_id)
        # Short, as sockets lie deep below it whose paths have 107 bytes at most (unix(7)).
        folder = ledger.folder("refimpl-", 6)
    except OSError as error:
        for entry in ledger.entries():
            ledger.remove(entry)
        ledger.close()
        raise BadOption(f"{error.filename or path}: {error.strerror}; set TMPDIR") from error
    try:
        with (
            _variable(sweep.HOME, str(path.parent)),
            _temporary(folder),
            _variable(processes.MARK, options.run_id),
        ):
            yield folder
    finally:
        _leave(ledger, folder, options.run_id)


def _leave(ledger: Ledger, folder: Path, run_id: str) -> None:
    """What a driver has left mounted stays on record: it may hold what is not ours to delete. What
    stays is told, also of what was made on the target."""
    with contextlib.suppress(OSError):
        processes.end(run_id)
        ledger.gone(processes.PROCESSES, run_id)
    if not mounts.below(str(folder)):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            ledger.gone(FOLDER, folder)
    ledger.close()
    with contextlib.suppress(OSError, UnreadableLedger):
        for line in sweep.left_by(run_id):
            print(f"refimpl: {line}", file=sys.stderr)


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        with _variable("TMPDIR", str(folder)):
            yield
    finally:
        tempfile.tempdir = before


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """An environment variable, for us and what we start."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
