"""A `Logs` of files: one for each container that runs and has a log path."""

from __future__ import annotations

import contextlib
import errno
import os
import threading

from refimpl import files
from refimpl.cri.logs.format import Records
from refimpl.cri.state.models import Container
from refimpl.cri.state.ports import Clock, Output
from refimpl.cri.state.settings.logs import LogChoices
from refimpl.wire.status import Code, Refused

__all__ = ["LogFiles"]

_MODE = 0o640
_FULL = (errno.ENOSPC, errno.EDQUOT)


class LogFiles:
    """Makes folders that are missing. What cannot be written any more is lost, and the container
    does not hear of it."""

    def __init__(self, clock: Clock, choices: LogChoices | None = None) -> None:
        self._clock, self._choices = clock, choices or LogChoices()
        self._open: dict[str, _LogFile] = {}

    def open(self, container: Container) -> Output:
        """FAILED_PRECONDITION for a file that cannot be written, or that a link leads out of the
        log directory; RESOURCE_EXHAUSTED where the disk is full."""
        if not container.log_path:
            return lambda _stream, _written: None
        records = Records(bare_lines=self._choices.carriage_return == "dropped")
        log = _LogFile(_descriptor(container), records, self._clock)
        self.close(container)  # of a start before this one, which failed
        self._open[container.id] = log
        return log.write

    def reopen(self, container: Container) -> None:
        """What comes after this is in the new file, and none of what came before; as `open`."""
        if not container.log_path:
            return
        log = self._open.get(container.id)
        if log is None:
            raise Refused(
                Code.FAILED_PRECONDITION, f"container {container.id} has ended: its log is closed"
            )
        log.turn(_descriptor(container))

    def close(self, container: Container) -> None:
        """Writes what is left of a line."""
        log = self._open.pop(container.id, None)
        if log is not None:
            log.close()

    def close_all(self) -> None:
        """The runtime ends."""
        while self._open:
            self._open.popitem()[1].close()


class _LogFile:
    def __init__(self, descriptor: int, records: Records, clock: Clock) -> None:
        self._descriptor, self._records, self._clock = descriptor, records, clock
        self._lock = threading.Lock()

    def write(self, stream: str, written: bytes) -> None:
        """Nothing once it is closed: a process may write after its end has been told."""
        with self._lock:
            if self._descriptor >= 0:
                self._append(self._records.add(stream, written, self._clock.now()))

    def turn(self, descriptor: int) -> None:
        """Goes on in another file; a line that has begun goes on there as a whole."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, descriptor
        if descriptor >= 0:
            os.close(descriptor)
        else:
            self.close()

    def close(self) -> None:
        with self._lock:
            if self._descriptor >= 0:
                self._append(self._records.end(self._clock.now()))
                os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, records: bytes) -> None:
        with contextlib.suppress(OSError):
            files.write_whole(self._descriptor, records)


def _descriptor(container: Container) -> int:
    path = container.log_path
    parent = os.path.dirname(path)
    try:
        os.makedirs(parent, 0o755, exist_ok=True)
        _check_inside(container, parent)
        return files.append(path, _MODE)
    except OSError as error:
        code = Code.RESOURCE_EXHAUSTED if error.errno in _FULL else Code.FAILED_PRECONDITION
        raise Refused(
            code,
            f"the log {path} of container {container.key.name} cannot be written:"
            f" {error.strerror}; log_directory has to be a folder that the runtime may write to",
        ) from None


def _check_inside(container: Container, parent: str) -> None:
    """No folder below the log directory may be a link that leads out of it."""
    within = getattr(container.config, "log_path", "")
    directory = container.log_path.removesuffix(within) if within else parent
    real = os.path.realpath(directory)
    if os.path.commonpath([real, os.path.realpath(parent)]) != real:
        raise OSError(errno.ELOOP, "a link leads out of the log directory", parent)
