"""What the kernel tells of a process, and what it wrote last."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from conformance.engine.targets import process


def test_a_process_is_measured() -> None:
    """One that is not there is not."""
    measures = process.measures_of(os.getpid())
    assert measures is not None
    assert measures.fds > 2
    assert measures.threads > 0
    assert process.resident(os.getpid()) == pytest.approx(measures.rss, rel=0.5)
    assert process.measures_of(2**22 + 1) is None
    assert process.resident(2**22 + 1) == 0
    assert process.visible()


def test_the_last_words_begin_at_the_panic(tmp_path: Path) -> None:
    """Not at the end of its stack, which names no reason."""
    log = tmp_path / "log"
    log.write_text("start\nI serve\npanic: nil map\n\ngoroutine 1:\nmain.go:7\nexit\n")
    assert process.last_words(log) == "\n  | panic: nil map\n  | \n  | goroutine 1:"
    log.write_text("one\ntwo\nthree\nfour\n")
    assert process.last_words(log) == "\n  | two\n  | three\n  | four"
    log.write_text("")
    assert process.last_words(log) == ""


def test_the_last_words_are_those_of_the_last_process(tmp_path: Path) -> None:
    """The log of a driver that is started again holds what it died of before."""
    log = tmp_path / "log"
    log.write_text("panic: first\n")
    began = log.stat().st_size
    with log.open("a") as file:
        file.write("panic: second\n")
    assert process.last_words(log, since=began) == "\n  | panic: second"


CRASH = """I1130 00:00:00.0 1 a.go:1] "Hello"
panic: runtime error: nil pointer [recovered]

goroutine 7 [running]:
example.com/lib/runtime.handle({0x1, 0x2})
\t/a.go:1 +0x1
panic({0x1?, 0x2?})
\t/go/src/runtime/panic.go:792 +0x1
runtime.sigpanic()
\t/go/src/runtime/signal_unix.go:925 +0x1
example.com/driver/pkg/manager.(*Manager).allocate(0xc0, {0x1, 0x2})
\t/b.go:2 +0x1
main.main()

goroutine 8 [select]:
example.com/driver/pkg/other.run(0x1)
"""

TRACEBACK = """\
Traceback (most recent call last):
  File "/plugin/serve.py", line 9, in start
    socket.bind(path)
    ^^^^^^^^^^^^^^^^^
OSError: [Errno 98] Address already in use

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/plugin/main.py", line 3, in <module>
    serve.start()
  File "/plugin/serve.py", line 11, in start
    raise Busy(path)
  [Previous line repeated 2 more times]
plugin.errors.Busy: /x.sock
and what it means
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACEBACK, "plugin.errors.Busy: /x.sock in start (/plugin/serve.py:11)"),
        (
            CRASH,
            "panic: runtime error: nil pointer [recovered] in"
            " example.com/driver/pkg/manager.(*Manager).allocate",
        ),
        ("panic: no\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:1\n", "panic: no in main.main"),
        ("SIGABRT: abort\nPC=1\n\ngoroutine 0 [idle]:\nexample.com/x.y(0x1)\n", "SIGABRT: abort"),
        ("E1 recovered\ngoroutine 1 [running]:\nmain.main()\n", ""),
        ("a\nb\n", ""),
    ],
    ids=["python", "panic", "main", "signal", "recovered", "nothing"],
)
def test_a_crash_is_told_with_the_function(tmp_path: Path, text: str, line: str) -> None:
    """The one that was called when the runtime made a panic of it."""
    log = tmp_path / "log"
    log.write_text(text)
    assert process.crash(log) == line
    if line:
        assert process.last_words(log).startswith(f"\n  | {line}")


def test_who_listens_at_a_socket_is_told_by_the_kernel(tmp_path: Path) -> None:
    """Whoever connects sees the process that called listen."""
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as connection:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        connection.connect(str(tmp_path / "s"))
        assert process.peer_of(connection) == os.getpid()
