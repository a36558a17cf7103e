"""The program that a real kubelet is: its process and its log, and its HTTP endpoints."""

from __future__ import annotations

import contextlib
import functools
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http.client import HTTPException
from pathlib import Path

from conformance.engine.options import BadOption
from conformance.engine.targets import process
from conformance.engine.targets.output import tail
from conformance.engine.targets.supervise import Supervised
from conformance.engine.verdict import Broken, eventually, timeout
from conformance.kubelet.reading import last_error
from refimpl.wire.client import Unreachable

__all__ = ["KubeletProgram", "http_answers", "http_get", "version_of"]

_END_S = 30.0
_VERSION = re.compile(r"v?(\d+\.\d+)\.\d+\S*")
# What kubelet says when it will not have its configuration, the machine, or both together.
_REFUSALS = re.compile(
    r"validat|invalid|polic|topolog|unsupported|not supported|feature gate", re.I
)


class KubeletProgram:
    """One process after the other. `log` is what the last one wrote; it lies in `folder`, as does
    what {dir} stands for."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder, self.log = name, folder, folder / "log"
        self._process: Supervised | None = None
        self._wanted = False  # it is to run: whatever ends it now is its fate

    @property
    def pid(self) -> int:
        """Of the process, which has been started."""
        assert self._process is not None
        assert self._process.process is not None
        return self._process.process.pid

    def start(self, words: Sequence[str]) -> None:
        """Starts it; raises RuntimeError while another one runs, BadOption where there is none."""
        if self.running():
            raise RuntimeError(f"{self.name} runs already: end it")
        self.log.write_bytes(b"")
        self._process = Supervised(words, folder=self._folder).start()
        self._wanted = True

    def end(self, *, kill: bool = False) -> None:
        """SIGTERM, or SIGKILL. Nothing if it does not run."""
        self._wanted = False
        if self._process is not None:
            if kill:
                self._process.kill()
            else:
                self._process.terminate(_END_S)

    def running(self) -> bool:
        """Whether it is alive."""
        return self._process is not None and self._process.running()

    def fate(self) -> str:
        """Why it ended by itself; empty if it did not."""
        if not self._wanted or self._process is None or self.running():
            return ""
        status = self._process.status() or 0
        if status < 0:  # a Go program with anything to say ends with 2
            return f"ended by {signal.Signals(-status).name}"
        return f"exit status {status}: {self._last_words()}"

    def refusal(self) -> str:
        """What it says of what it was told, if it has ended for that; else empty."""
        words = self._last_words() if self.fate() else ""
        crashed = words.startswith("panic: ") and "KubeletConfiguration" not in words
        return words if not crashed and _REFUSALS.search(words) else ""

    def until(self, condition: Callable[[], bool], complaint: str, limit_s: float) -> None:
        """Waits until the condition holds; raises Unreachable, at once where it ends before."""
        try:
            eventually(condition, limit_s, complaint, unless=self.fate)
        except Broken as broken:
            words = self.fate() or f"it {complaint} {broken.wanted}: {self._last_words()}"
            raise Unreachable(f"{self.name}: {words}") from None

    def _last_words(self) -> str:
        """Of its log: how it crashed, else the last error, else whatever came last."""
        error = last_error(tail(self.log))
        return process.crash(self.log) or error or process.last_words(self.log)


@functools.cache
def version_of(program: str) -> tuple[str, str]:
    """Version and release, such as 1.37.2 and 1.37; empty where it tells none of them.

    Raises BadOption where there is no such program.
    """
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False, timeout=timeout(20)
        )
    except OSError as error:
        raise BadOption(f"{program}: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        return "", ""
    match = _VERSION.search(done.stdout)
    return (match[0].removeprefix("v"), match[1]) if match else ("", "")


def http_answers(port: int) -> bool:
    """Whether anything at all comes back on loopback, be it an error."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        direct.open(f"http://127.0.0.1:{port}/", timeout=timeout(10)).close()
    except urllib.error.HTTPError as error:
        error.close()
    except (OSError, HTTPException):
        return False
    return True


def http_get(port: int, path: str) -> str:
    """The body of an answer on loopback; empty if there is none."""
    url = f"http://127.0.0.1:{port}{path}"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with (
        contextlib.suppress(OSError, HTTPException),
        direct.open(url, timeout=timeout(10)) as answer,
    ):
        text: str = answer.read().decode()
        return text
    return ""
