"""The report folder: proven writable before a run starts, filled however it ends."""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import pytest

from conformance.engine import events as stream_of
from conformance.engine import reports
from conformance.engine.options import BadOption


@attrs.frozen
class ReportFolder:
    """Where a run leaves events.jsonl, junit_<iface>.xml, report.html, summary.md, badge.json."""

    path: Path

    @classmethod
    def prepare(cls, name: str) -> ReportFolder:
        """Makes the folder and proves it writable; raises BadOption before anything has run."""
        folder = cls(Path(name))
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            folder.events.write_bytes(b"")
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
    def pytest_unconfigure(self) -> None:
        """The stream was just closed."""
        self.finish()

    def finish(self) -> None:
        """Makes the reports of the stream; what cannot be written is said."""
        try:
            stream = stream_of.read(self.events)
            if stream:
                self.write(stream)
        except OSError as error:
            complaint = f"--report-dir {self.path}: {error.filename or ''}: {error.strerror}"
            print(f"refimpl: {complaint}; the reports are not complete", file=sys.stderr)

    def write(self, stream: list[stream_of.Event]) -> None:
        """Every report of one stream; raises OSError."""
        interface = next((e.interface for e in stream if isinstance(e, stream_of.Run)), "") or "all"
        for name, text in {
            f"junit_{interface}.xml": reports.junit(stream),
            "report.html": reports.html(stream),
            "summary.md": reports.markdown(stream),
            "badge.json": reports.badge(stream),
        }.items():
            (self.path / name).write_text(text, encoding="utf-8")
