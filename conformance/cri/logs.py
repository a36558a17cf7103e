"""Logs of containers as kubelet and crictl read them: from the files that the runtime writes."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import attrs

from conformance.cri.pods import ContainerUnderTest, PodUnderTest
from conformance.cri.target import CriTarget
from conformance.engine.verdict import eventually, expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Refused

__all__ = ["Log", "Record", "logged", "written"]

_LINE = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)"
    rb" (stdout|stderr) ([PF](?::[^ ]*)?) (.*)",
    re.DOTALL,
)
_NS = 1_000_000_000
_SOON_S = 5.0


@attrs.frozen
class Record:
    """One line of a log. at: ns since the epoch. tag: P, to be continued, or F."""

    at: int
    stream: str
    tag: str
    content: bytes

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Raises Broken for a line that is no record."""
        match = _LINE.fullmatch(line)
        expect(match, "each line is `<time> <stream> <tag> <content>`", wanted="one", got=line)
        assert match is not None
        moment, fraction, zone, stream, tag, content = match.groups(default=b"")
        offset = "+00:00" if zone == b"Z" else zone.decode()
        whole = datetime.fromisoformat(f"{moment.decode()}{offset}").astimezone(UTC)
        at = int(whole.timestamp()) * _NS + int(fraction.ljust(9, b"0"))
        return cls(at, stream.decode(), tag.decode().partition(":")[0], content)


@attrs.frozen
class Log:
    """The log of one container, in a folder of the case's own."""

    container: ContainerUnderTest
    folder: Path
    path: Path

    def records(self, path: Path | None = None) -> list[Record]:
        """Those of the file, or of another one, which are whole; none where there is no file.
        Raises Broken."""
        path = path or self.path
        data = path.read_bytes() if path.exists() else b""
        return [Record.read(line) for line in data.split(b"\n")[:-1]]

    def contents(self) -> list[bytes]:
        """Of the records."""
        return [each.content for each in self.records()]

    def text(self, path: Path | None = None, stream: str = "stdout") -> bytes:
        """What the container wrote, put together again."""
        records = [each for each in self.records(path) if each.stream == stream]
        return b"".join(each.content + b"\n" * (each.tag == "F") for each in records)

    def until(self, text: bytes) -> None:
        """Until the log has it; raises Broken."""
        eventually(lambda: text in self.text(), 20.0, f"the log has {text!r}")

    def rotate(self, name: str = "old") -> Path:
        """As kubelet does it: renames the file, and has the log reopened. Raises Refused."""
        old = self.path.with_name(name)
        self.path.rename(old)
        self.reopen()
        return old

    def reopen(self) -> None:
        """Raises Refused."""
        request = pb.ReopenContainerLogRequest(container_id=self.container.id)
        self.container.runtime.runtime.ReopenContainerLog(request)

    def reopened(self) -> bool:
        """Whether it was not refused."""
        try:
            self.reopen()
        except Refused:
            return False
        return True

    def all(self, wanted: bytes) -> None:
        """Once the container has ended all of it is there; raises Broken."""
        self.container.ended()
        eventually(
            lambda: len(self.text()) >= len(wanted), _SOON_S, "all that it wrote is in the log"
        )
        expect(self.text() == wanted, "the log has what it wrote", wanted=wanted, got=self.text())


def logged(
    cri: CriTarget, command: Sequence[str], *, within: str = "main/0.log", tty: bool = False
) -> Log:
    """The log of a container that is not started; kubelet makes the folder of its file."""
    folder = Path(tempfile.mkdtemp(prefix="refimpl-logs-"))
    cri.scope.callback(lambda: shutil.rmtree(folder, ignore_errors=True))
    path = folder / within
    path.parent.mkdir(parents=True, exist_ok=True)
    pod: PodUnderTest = cri.pods.run(log_directory=str(folder))
    more: dict[str, Any] = {"log_path": within} if within else {}
    request = pod.request(command=command, **more)
    request.config.tty = tty
    return Log(pod.ask(request), folder, path)


def written(cri: CriTarget, *command: str, **more: Any) -> Log:
    """The log of a container that has ended by itself."""
    log = logged(cri, command, **more)
    log.container.start()
    log.container.ended()
    return log
