"""The record of every call: what assertions, reports and reproductions look at."""

from __future__ import annotations

import atexit
import base64
import fnmatch
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any, Literal

import msgspec
from attrs import define, field
from google.protobuf.message import DecodeError, Message

from refimpl import files
from refimpl.wire.call_log import CallLog
from refimpl.wire.hiding import SHORTEST, hidden
from refimpl.wire.secrets import MASK, holds_secrets, secret_texts, to_dict
from refimpl.wire.status import Code

__all__ = ["STREAM_KEEP", "Entry", "Journal"]

KEEP = 100_000
KEEP_BYTES = 128 * 1024 * 1024
"""What a journal holds in memory: that many calls, and that many bytes of their messages."""

BATCH_S = 0.05
"""How long the writing thread gathers calls, and how late a call may be in the file."""

STREAM_KEEP = 1000
"""How many messages of a stream an entry keeps: the newest."""

Frames = tuple[bytes | Message, ...]


@define(kw_only=True, eq=False)
class Entry:
    """One call. Messages are kept as they were on the wire and decoded when looked at.

    `time` is in seconds since 1970, `deadline_s` what the caller left when the call began (None:
    no deadline), `details` what a client got beside a refusal (see `Refused`), `fault` the ids of
    the fault rules that acted, or "bug". A stream keeps its newest 1000 messages. `requests` and
    `replies` hold bytes where the type is unknown or does not fit.
    """

    method: str
    side: Literal["server", "client", "proxy"] = "server"
    peer: str = ""
    time: float = 0.0
    duration_s: float = 0.0
    deadline_s: float | None = None
    code: Code = Code.OK
    message: str = ""
    details: bytes = b""
    fault: str | None = None
    seq: int = 0
    request_type: type[Message] | None = None
    reply_type: type[Message] | None = None
    _requests: Frames = field(default=(), repr=False)
    _replies: Frames = field(default=(), repr=False)

    @property
    def rpc(self) -> str:
        """The method without its service: "CreateVolume"."""
        return self.method.rpartition("/")[2]

    @property
    def requests(self) -> Frames:
        """The messages of the caller."""
        return tuple(_decoded(frame, self.request_type) for frame in self._requests)

    @property
    def replies(self) -> Frames:
        """The messages of the server; none after a refusal of a unary call."""
        return tuple(_decoded(frame, self.reply_type) for frame in self._replies)

    def requests_are(self, *frames: bytes) -> None:
        """Notes what was asked, before the call is added to a journal."""
        self._requests = frames

    def replies_are(self, *frames: bytes) -> None:
        """Notes what was answered, before the call is added to a journal."""
        self._replies = frames

    @property
    def size(self) -> int:
        """Bytes of all messages."""
        size = 0
        for frames in (self._requests, self._replies):
            for frame in frames:
                size += len(frame) if isinstance(frame, bytes) else frame.ByteSize()
        return size

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """The call as a line of the journal file has it. Unless `reveal`, secrets are replaced,
        also where the server quotes those that it was sent."""
        sent = () if reveal else self._secrets()
        return {
            "seq": self.seq,
            "time": self.time,
            "side": self.side,
            "method": self.method,
            "peer": self.peer,
            "deadline_s": self.deadline_s,
            "requests": [_shown(f, self.request_type, reveal) for f in self._requests],
            "replies": hidden([_shown(f, self.reply_type, reveal) for f in self._replies], sent),
            "code": self.code.name,
            "message": hidden(self.message, sent),
            "fault": self.fault,
            "duration_s": self.duration_s,
        }

    def _secrets(self) -> tuple[str, ...]:
        if self.request_type is None or not holds_secrets(self.request_type):
            return ()
        sent = (each for each in self.requests if isinstance(each, Message))
        texts = (text for message in sent for text in secret_texts(message))
        return tuple(text for text in texts if len(text) >= SHORTEST)


class Journal(CallLog[Entry]):
    """The calls of one server, client or proxy, oldest first; safe to use from any thread.

    Memory holds the newest `keep` calls, and fewer if their messages exceed `keep_bytes`. With
    `path` every call is also appended there as a JSON line (file mode 0600), by a thread of its
    own and some 50 ms late; `flush` or `close` brings the file up to date. A link or a FIFO is
    no such file. A file that cannot be written is reported once on stderr and given up;
    calls and memory are not affected.
    """

    def __init__(
        self, path: Path | None = None, keep: int = KEEP, *, keep_bytes: int = KEEP_BYTES
    ) -> None:
        super().__init__(keep)
        self._keep_bytes, self._held_bytes = keep_bytes, 0
        self._path = path
        self._file: _File | None = None
        self.open()

    def _added(self, record: Entry) -> None:
        self._held_bytes += record.size
        if len(self._held) > self._keep or self._held_bytes > self._keep_bytes:
            self._forget()
        if self._file is not None:
            self._file.append(record)

    def calls(self, glob: str = "*") -> list[Entry]:
        """The calls whose RPC ("CreateVolume") or whole method ("/csi.v1.*") matches the glob."""
        matches = re.compile(fnmatch.translate(glob)).match
        return [e for e in self.entries if matches(e.rpc) or matches(e.method)]

    def clear(self) -> None:
        """Empties the memory; numbers go on, and the file keeps what it has."""
        with self._lock:
            self._held.clear()
            self._held_bytes = 0

    def flush(self) -> None:
        """Returns when everything recorded so far is in the file."""
        if self._file is not None:
            self._file.write_pending()

    def open(self) -> None:
        """Opens the file again after `close`; nothing to do while it is open, or without one."""
        if self._path is not None and self._file is None:
            self._file = _File(self._path, self._keep, self._lock)

    def close(self) -> None:
        """Flushes and closes the file; memory stays readable. May be called twice."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _forget(self) -> None:
        while len(self._held) > self._keep or self._held_bytes > self._keep_bytes:
            self._held_bytes -= self._held.popleft().size


class _File:
    """The file of a journal: `append` is quick, a thread turns what is pending into lines."""

    def __init__(self, path: Path, most: int, lock: threading.Lock) -> None:
        self._path, self._most, self._lost = path, max(most, 1), 0
        self._lock, self._pending = lock, list[Entry]()
        self._writing = threading.Lock()
        self._wake, self._closing = threading.Event(), threading.Event()
        self._fd = -1
        try:
            self._fd = files.append(path)
        except OSError as error:
            self._give_up(error)
            return
        self._thread = threading.Thread(target=self._run, name="refimpl-journal", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def append(self, entry: Entry) -> None:
        """Takes a call over; the caller holds the journal's lock."""
        if self._fd < 0:
            return
        if len(self._pending) >= self._most:  # the file hangs: memory must not pay for it
            self._lost += 1
            return
        self._pending.append(entry)
        if len(self._pending) == 1:
            self._wake.set()

    def write_pending(self) -> None:
        with self._writing:
            with self._lock:
                batch, self._pending = self._pending, []
                lost, self._lost = self._lost, 0
            if lost:
                _report(f"{self._path} is too slow: {lost} calls are missing in it")
            if self._fd >= 0 and batch:
                try:
                    _write_all(self._fd, b"".join(map(_line, batch)))
                except OSError as error:
                    self._give_up(error)

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._wake.set()
        self._thread.join()
        self.write_pending()
        atexit.unregister(self.close)
        self._release()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wake.wait()
            self._wake.clear()
            self._closing.wait(BATCH_S)
            self.write_pending()

    def _give_up(self, error: OSError) -> None:
        _report(f"{self._path}: {error.strerror}: no more calls are written to it")
        self._closing.set()
        self._release()

    def _release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


_ENCODER = msgspec.json.Encoder()


def _line(entry: Entry) -> bytes:
    try:
        line = _ENCODER.encode(entry.to_dict())
    except Exception as error:  # one call that cannot be written must not end the record
        line = _ENCODER.encode({"seq": entry.seq, "unwritable": ascii(error)})
    return line + b"\n"


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _report(text: str) -> None:
    print(f"refimpl: journal {text}", file=sys.stderr, flush=True)


def _decoded(frame: bytes | Message, kind: type[Message] | None) -> bytes | Message:
    if kind is None or not isinstance(frame, bytes):
        return frame
    try:
        return kind.FromString(frame)
    except DecodeError:
        return frame


def _shown(frame: bytes | Message, kind: type[Message] | None, reveal: bool) -> Any:
    message = _decoded(frame, kind)
    if not isinstance(message, bytes):
        return to_dict(message, reveal=reveal)
    hidden = kind is not None and not reveal and holds_secrets(kind)
    return {"bytes": MASK if hidden else base64.b64encode(message).decode("ascii")}
