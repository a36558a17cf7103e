"""The calls that recorders got: read from their common journal, as far as it has grown."""

from __future__ import annotations

import json
import threading
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from refimpl.cni.execute import Log, Outcome, Request
from refimpl.documents import json as documents

__all__ = ["RecordedCall", "RecorderJournal"]


@attrs.frozen
class RecordedCall:
    """One exec of a recorder. plugin: its letter; netns, own: inodes of the namespace it was given
    (None: the path leads nowhere) and of the one it ran in. twice: the variables as they stood
    there, where one stood there twice. status: None while it has not ended. document: stdin as an
    object, {} where it is none.
    """

    plugin: str
    verb: str
    env: Mapping[str, str]
    stdin: bytes
    netns: int | None
    own: int | None
    pid: int
    start_ns: int
    twice: tuple[str, ...]
    document: dict[str, Any]
    end_ns: int | None = None
    status: int | None = None
    stdout: bytes = b""

    @property
    def step(self) -> str:
        """`a ADD`."""
        return f"{self.plugin} {self.verb}"

    @property
    def answer(self) -> dict[str, Any]:
        """stdout as an object, {} where it is none."""
        return _object(self.stdout)

    @property
    def previous(self) -> Any:
        """The prevResult it was given, None for none."""
        return self.document.get("prevResult")

    @property
    def id(self) -> str:
        """The container it is about."""
        return self.env.get("CNI_CONTAINERID", "")

    def overlaps(self, other: RecordedCall) -> bool:
        """Whether both ran at the same time; one that never ended ran until now."""
        first, second = sorted((self, other), key=lambda call: call.start_ns)
        return first.end_ns is None or first.end_ns > second.start_ns


class RecorderJournal:
    """The file that the recorders of one run write to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._calls: dict[str, RecordedCall] = {}
        self._logged: set[str] = set()
        self._lock = threading.Lock()

    def calls(self) -> list[RecordedCall]:
        """All of them, in the order they began; from any thread."""
        with self._lock:
            self._read()
        return sorted(self._calls.values(), key=lambda call: call.start_ns)

    def _read(self) -> None:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]  # the last line may still be written
        self._offset += len(whole)
        for text in whole.splitlines():
            line = json.loads(text)
            known = self._calls.get(line["call"])
            self._calls[line["call"]] = _ended(known, line) if known else _begun(line)

    def record(self, log: Log) -> None:
        """Puts what is new into the log of a run."""
        with self._lock:
            self._record(log)

    def _record(self, log: Log) -> None:
        self._read()
        new = [name for name in self._calls if name not in self._logged]
        for name in sorted(new, key=lambda name: self._calls[name].start_ns):
            call = self._calls[name]
            outcome = Outcome(call.status or 0, call.stdout, stdout_bytes=len(call.stdout))
            env = {k: v for k, v in call.env.items() if k.startswith("CNI_") or k == "PATH"}
            log.note(call.plugin, Request(call.verb, env, call.stdin), outcome)
        self._logged.update(new)


def _begun(line: Mapping[str, Any]) -> RecordedCall:
    stdin = b64decode(line["stdin"])
    return RecordedCall(
        plugin=str(line["plugin"]).rpartition("-")[2],
        verb=line["verb"],
        env=line["env"],
        stdin=stdin,
        netns=line["netns_inode"],
        own=line["own_inode"],
        pid=line["pid"],
        start_ns=int(line["start_ns"]),
        twice=tuple(line.get("env_list") or ()),
        document=_object(stdin),
    )


def _ended(call: RecordedCall, line: Mapping[str, Any]) -> RecordedCall:
    out = b64decode(line["stdout"])
    return attrs.evolve(call, end_ns=int(line["end_ns"]), status=line["status"], stdout=out)


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = documents.parse(data).value
    except documents.DocumentError:
        return {}
    return value if isinstance(value, dict) else {}
