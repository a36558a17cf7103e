"""What a real process is connected to: pipes, or a terminal of its own; and what passes through."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

import attrs

from refimpl.cri.subprocesses.kept import Kept
from refimpl.streaming.pipe import Pipe
from refimpl.streaming.streams import Size, Sizes

__all__ = ["LOOK_S", "Wires"]

LOOK_S = 0.05
"""Between two looks at whether somebody has left."""
_PIECE = 1 << 16
_NO_INPUT = "/dev/null"


@attrs.define(eq=False)
class Wires:
    """ends: stdin, stdout and stderr of the process, until `started`. input: where its input is
    written to, None where it has none. outputs: where its output is read from. over: it has ended,
    or its input has. receive: gives the near end of a terminal that somebody else makes."""

    ends: tuple[int, int, int]
    input: int | None
    outputs: Mapping[int, str]
    tty: bool
    receive: Callable[[], int] | None = None
    over: threading.Event = attrs.field(factory=threading.Event)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    @classmethod
    def open(cls, *, tty: bool, stdin: bool) -> Wires:
        """New ones."""
        if tty:
            master, slave = os.openpty()
            os.set_blocking(master, False)
            return cls((slave,) * 3, master, {master: "stdout"}, tty)
        near, feed = os.pipe() if stdin else (os.open(_NO_INPUT, os.O_RDONLY), None)
        if feed is not None:
            os.set_blocking(feed, False)
        (out, stdout), (err, stderr) = os.pipe(), os.pipe()
        return cls((near, stdout, stderr), feed, {out: "stdout", err: "stderr"}, tty)

    @classmethod
    def of_console(cls, receive: Callable[[], int]) -> Wires:
        """Those of a terminal that comes with `connect`; the process is started without any."""
        nothing = os.open(_NO_INPUT, os.O_RDWR)
        return cls((nothing,) * 3, None, {}, True, receive=receive)

    def connect(self) -> None:
        """The process has been made, and its terminal can be had. Raises OSError."""
        if self.receive is not None:
            master = self.receive()
            os.set_blocking(master, False)
            self.input, self.outputs = master, {master: "stdout"}

    def started(self) -> None:
        """The process has its ends; ours of them are closed."""
        for end in set(self.ends):
            os.close(end)

    def close(self) -> None:
        """All that is left."""
        self.end_input()
        for descriptor in self.outputs:
            os.close(descriptor)

    def end_input(self) -> None:
        """The process reads the end, unless it has a terminal, which stays."""
        self.over.set()
        with self._lock:
            if self.input is not None and not self.tty:
                os.close(self.input)
            self.input = None

    def resize(self, size: Size) -> None:
        """The process is told by SIGWINCH."""
        window = struct.pack("HHHH", size.height, size.width, 0, 0)  # struct winsize
        with self._lock:
            if self.tty and self.input is not None:
                fcntl.ioctl(self.input, termios.TIOCSWINSZ, window)

    # -- passing on ---------------------------------------------------------------------------

    def feed(self, pipe: Pipe, left: Callable[[], bool], *, ends: bool) -> None:
        """Writes all that comes to the input, until somebody has left or the process has ended.
        ends: so does the input then."""
        while not self.over.is_set() and not left():
            piece = pipe.read(LOOK_S)
            if piece == b"":
                break
            if piece:
                self._write(piece, left)
        if ends:
            self.end_input()

    def follow(self, sizes: Sizes, left: Callable[[], bool]) -> None:
        """Makes the terminal as large as the client's is, from time to time."""
        while not self.over.is_set() and not left():
            if size := sizes.next(LOOK_S):
                self.resize(size)

    def pump(
        self, kept: Kept, write: Callable[[str, bytes], object], look: Callable[[], object]
    ) -> int:
        """Hands on all that the process writes before its end; its exit code. look: called from
        time to time."""
        poll = select.poll()
        for descriptor in (*self.outputs, kept.report):
            poll.register(descriptor, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(LOOK_S * 1000)}
            for descriptor in ready & self.outputs.keys():
                if not self._hand_on(descriptor, write):
                    poll.unregister(descriptor)
            if kept.report in ready:
                break
            look()
        code = kept.exit_code()
        for descriptor in self.outputs:  # others may still hold them open
            os.set_blocking(descriptor, False)
            while self._hand_on(descriptor, write):
                pass
        return code

    def _hand_on(self, descriptor: int, write: Callable[[str, bytes], object]) -> bool:
        """One piece; False where there is none. A terminal that nobody has open any more is EIO."""
        with suppress(OSError):
            if piece := os.read(descriptor, _PIECE):
                write(self.outputs[descriptor], piece)
                return True
        return False

    def _write(self, piece: bytes, left: Callable[[], bool]) -> None:
        view = memoryview(piece)
        while view and not self.over.is_set() and not left():
            with self._lock:
                if self.input is None:
                    return
                try:
                    view = view[os.write(self.input, view) :]
                    continue
                except BlockingIOError:
                    pass
                except OSError:  # it does not read any more
                    return
            self.over.wait(LOOK_S / 10)
