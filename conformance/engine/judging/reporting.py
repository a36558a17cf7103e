"""The report folder: proven writable before a run starts, filled however it ends."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

import attrs
import pytest

from conformance.engine import events as stream_of
from conformance.engine import reports
from conformance.engine.options import INTERNAL, BadOption
from refimpl import files

_LOCKS: dict[tuple[int, int], int] = {}
"""Report folders of this process, by device and inode; the descriptors that hold their locks."""


def _lock(folder: int) -> None:
    """Keeps a folder for this process until that ends; BlockingIOError where another has it."""
    status = os.fstat(folder)
    place = (status.st_dev, status.st_ino)
    try:
        if place not in _LOCKS:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _LOCKS[place] = os.dup(folder)
    finally:
        os.close(folder)


@attrs.frozen
class ReportFolder:
    """Where a run leaves events.jsonl, junit_<iface>.xml, report.html, summary.md, badge.json."""

    path: Path

    @classmethod
    def prepare(cls, name: str) -> ReportFolder:
        """Makes the folder and proves it writable; raises BadOption before anything has run."""
        folder = cls(Path(name))
        try:
            _lock(files.folder(folder.path, strangers=True))
            os.close(files.create(folder.events))
        except BlockingIOError as error:
            raise BadOption(
                f"--report-dir {name}: another run writes there; name a directory of its own"
            ) from error
        except OSError as error:
            raise BadOption(
                f"--report-dir {name}: {error.strerror}; name a directory you can write to"
            ) from error
        return folder

    @property
    def events(self) -> Path:
        """The event stream."""
        return self.path / "events.jsonl"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """The recorder, which was there before, has just closed the stream. A run whose reports are
        not complete does not end as if all were well."""
        if not self.finish() and not session.exitstatus:
            session.exitstatus = INTERNAL

    def finish(self) -> bool:
        """Makes the reports of the stream; what cannot be written is said, and then it is False."""
        try:
            stream = stream_of.read(self.events)
            if stream:
                self.write(stream)
        except OSError as error:
            complaint = f"--report-dir {self.path}: {error.filename or ''}: {error.strerror}"
            print(f"refimpl: {complaint}; the reports are not complete", file=sys.stderr)
            return False
        return True

    def write(self, stream: list[stream_of.Event]) -> None:
        """Every report of one stream; raises OSError."""
        interface = next((e.interface for e in stream if isinstance(e, stream_of.Run)), "") or "all"
        for name, text in {
            f"junit_{interface}.xml": reports.junit(stream),
            "report.html": reports.html(stream),
            "summary.md": reports.markdown(stream),
            "badge.json": reports.badge(stream),
        }.items():
            files.replace(self.path / name, text.encode())
