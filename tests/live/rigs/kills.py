"""Runs of every suite, killed at random moments: what is left on the machine after a sweep.

    python -m tests.live.rigs.kills [--kills 25] [--seed SEED]

Each line tells the suite, the signal and the moment of one kill, and what was wrong after it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from conformance.engine.ledger import mounts, processes
from conformance.engine.verdict import Broken, eventually
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from tests.live import peers

__all__ = ["Kill", "Machine", "Suite", "drawn_kills", "suites"]

REFIMPL = (sys.executable, "-m", "refimpl")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
EARLY_S, LATE_S = 0.5, 6.0
"""A third of the kills comes before the first, the others before the second."""
_END_S = 60.0
_MOUNTING = ("--only", "CSI-NUNP-*", "--only", "CSI-STG-*")


@attrs.frozen
class Suite:
    """Words after `refimpl test`, and after `refimpl sweep`; a sweep of this machine follows.

    {state} stands for a folder that outlasts runs, {socket} for a driver that runs all the time.
    """

    name: str
    test: tuple[str, ...]
    sweep: tuple[str, ...] = ()


def suites() -> list[Suite]:
    """Every suite on targets that it starts, and one on a driver that it does not."""
    ours = (*REFIMPL, "serve", "csi", "{endpoint}", "--state-dir", "{state}")
    plugin = (*REFIMPL, "serve", "deviceplugin", "--resource", "example.com/gpu=4")
    adapter = ("--", sys.executable, "-m")
    mock = ("--", str(peers.own_program("mock-driver", peers.KUBERNETES, "mock_driver")))
    mock += ("-endpoint", "{endpoint}")
    bridge = f"exec:{peers.built_cni_plugins() / 'bridge'}"
    return [
        Suite("csi", ("csi", "--", *ours), ("csi", "--", *ours)),
        Suite("csi mounts", ("csi", *_MOUNTING, "--", *ours), ("csi", "--", *ours)),
        Suite("csi mock", ("csi", *mock), ("csi", *mock)),
        Suite("csi socket", ("csi", "{socket}"), ("csi", "{socket}")),
        Suite("cni", ("cni", bridge)),
        Suite("cdi", ("cdi", *adapter, "conformance.cdi.inprocess")),
        Suite("deviceplugin", ("deviceplugin", "--", *plugin, "--dir", "{kubelet}")),
        Suite("kubelet", ("client", "deviceplugin", *adapter, "conformance.kubelet.adapter")),
        Suite("all", ("all", "-n", "2")),
    ]


@attrs.frozen
class Kill:
    """One run that is killed."""

    suite: Suite
    signal: signal.Signals
    after_s: float

    def __str__(self) -> str:
        return f"{self.suite.name}: {self.signal.name} after {self.after_s:.2f} s"


def drawn_kills(seed: int, count: int) -> list[Kill]:
    """As many, of all suites and signals."""
    draw, every = random.Random(seed), suites()
    kills = []
    for number in range(count):
        early = draw.random() < 1 / 3
        after_s = draw.uniform(0, EARLY_S) if early else draw.uniform(EARLY_S, LATE_S)
        kills.append(Kill(every[number % len(every)], draw.choice(SIGNALS), after_s))
    return kills


class Machine:
    """What a run could leave something in: the folders that it is given, and this machine.

    A context manager.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kills-"))
        for name in ("tmp", "state", "ledgers"):
            (self.folder / name).mkdir()
        self._socket = Endpoint.parse(f"unix://{self.folder}/d.sock")
        self._run = f"kills-{os.getpid()}"
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Machine:
        self._stack.callback(subprocess.run, ["rm", "-rf", str(self.folder)], check=False)
        words = [*REFIMPL, "serve", "csi", str(self._socket)]
        driver = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self._stack.enter_context(driver)  # waits, and closes its pipe
        self._stack.callback(driver.terminate)
        assert driver.stdout is not None
        assert driver.stdout.readline().startswith("ready")
        self._before = self._seen()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def judge(self, kill: Kill) -> list[str]:
        """What is wrong with the end of a run that is killed, and after a sweep; sentences."""
        run = self._killed(kill)
        wrong = [f"a traceback: {run.stderr[-1500:]}"] if _traceback(run.stderr) else []
        allowed = {0, 1, -kill.signal} if kill.signal == signal.SIGKILL else {0, 1, 2, -kill.signal}
        if run.returncode not in allowed:
            wrong.append(f"it ended with {run.returncode}: {run.stderr[-500:]}")
        if kill.signal != signal.SIGKILL and (left := self._left()):
            wrong.append(f"without a sweep there is {left}")
        for words in filter(None, (kill.suite.sweep, ("",))):
            done = self._refimpl("sweep", *filter(None, words))
            if done.returncode:
                wrong.append(f"the sweep ended with {done.returncode}: {done.stdout}{done.stderr}")
        with contextlib.suppress(Broken):
            eventually(lambda: not self._left(), 3, "everything goes")
        left = self._left()
        return [*wrong, f"after the sweep there is {left}"] if left else wrong

    def _killed(self, kill: Kill) -> subprocess.CompletedProcess[str]:
        words = self._words("test", *kill.suite.test[:1], "-q", *kill.suite.test[1:])
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with subprocess.Popen(words, env=self._env, text=True, **pipes) as run:  # type: ignore[call-overload]
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(kill.after_s)
            run.send_signal(kill.signal)
            _, stderr = run.communicate(timeout=_END_S)
        return subprocess.CompletedProcess(words, run.returncode, "", stderr)

    def _refimpl(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._words(*words),
            env=self._env,
            capture_output=True,
            text=True,
            timeout=_END_S,
            check=False,
        )

    def _words(self, *words: str) -> list[str]:
        places = {"{state}": str(self.folder / "state"), "{socket}": str(self._socket)}
        return [*REFIMPL, *(places.get(word, word) for word in words)]

    @property
    def _env(self) -> Mapping[str, str]:
        ours = {"TMPDIR": str(self.folder / "tmp"), "XDG_STATE_HOME": str(self.folder / "ledgers")}
        return {**os.environ, **ours, "KILLED": self._run, "PYTEST_XDIST_WORKER": "main"}

    def _left(self) -> list[str]:
        """What there is that was not there before the run."""
        files = [*(self.folder / "tmp").iterdir(), *self.folder.glob("ledgers/refimpl/ledgers/*")]
        pids = processes.marked(self._run, "KILLED")
        ours = [f"process {pid} {_command(pid)}" for pid in pids]
        return [*map(str, files), *ours, *sorted(self._seen() - self._before), *self._volumes()]

    def _seen(self) -> set[str]:
        """Links and named network namespaces of this machine; mounts and devices of our folder."""
        links = os.listdir("/sys/class/net")
        spaces = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
        loops = Path("/sys/block").glob("loop*/loop/backing_file")
        return {
            *(f"link {name}" for name in links),
            *(f"network namespace {name}" for name in spaces),
            *(f"mount {line}" for _, line in mounts.table() if str(self.folder) in line),
            *(f"device {path}" for path in loops if str(self.folder) in path.read_text()),
        }

    def _volumes(self) -> Iterator[str]:
        """Those of the driver that runs all the time, and of the one whose state is kept."""
        with Channel(self._socket) as channel:
            yield from _volumes(channel)
        with FakeDriver(state_dir=self.folder / "state") as kept, Channel(kept.endpoint) as channel:
            yield from _volumes(channel)


def _volumes(channel: Channel) -> Iterator[str]:
    entries = Driver.over(channel).controller.ListVolumes(pb.ListVolumesRequest()).entries
    yield from (f"volume {entry.volume.volume_id}" for entry in entries)


def _traceback(stderr: str) -> bool:
    """Python itself shows one where it is interrupted before the command has begun; that of `site`
    has a `main` as well."""
    return re.search(r'cli/main\.py", line \d+, in main\n', stderr) is not None


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return shlex.join(word.decode(errors="replace") for word in words if word)
    return ""


def main() -> int:
    """Prints each kill; 1 where anything was left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--suite", default="", help="only this one")
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    began, failed = time.monotonic(), False
    with Machine() as machine:
        for kill in drawn_kills(chosen.seed, chosen.kills):
            if chosen.suite not in ("", kill.suite.name):
                continue
            wrong = machine.judge(kill)
            failed = failed or bool(wrong)
            print(kill, "ok" if not wrong else "", *wrong, sep="\n    ", flush=True)
    print(f"{time.monotonic() - began:.0f} s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
