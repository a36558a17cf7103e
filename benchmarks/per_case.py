"""Time per case beside csi-sanity's time per spec, on the same driver, in turns.

Each run has a driver started afresh. Two figures are told: the time that a judged case or spec took
by the runner's own account, and the whole process (start, imports, reports) shared out among them.
Skipped cases and specs count in neither.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from conformance.engine import events
from conformance.engine.events import CaseDone
from conformance.engine.targets.supervise import Supervised

ROUNDS = 9
REFIMPL = (sys.executable, "-m", "refimpl")


@attrs.frozen
class Peer:
    """A driver both can judge; `ours` are options that spare it what would end it."""

    name: str
    command: tuple[str, ...]
    ours: tuple[str, ...] = ()


@attrs.frozen
class Timed:
    """One run: cases or specs judged, and seconds for all of them and for the process."""

    judged: int
    judging_s: float
    whole_s: float

    @property
    def each_ms(self) -> float:
        """Milliseconds for one case or spec."""
        return self.judging_s / self.judged * 1000

    @property
    def share_ms(self) -> float:
        """Milliseconds of the whole process for one case or spec."""
        return self.whole_s / self.judged * 1000


def peers() -> Path:
    """Where `tox -e live` keeps the programs it has built."""
    return Path(os.environ.get("REFIMPL_PEERS") or "~/.cache/refimpl/peers").expanduser()


def mock_driver() -> Peer:
    """The mock driver of Kubernetes' end-to-end tests; three inputs of ours end it."""
    program = peers() / "mock-driver-1.37.2" / "mock-driver"
    deadly = ("CSI-LV-006", "CSI-LV-008", "CSI-CTRL-052")
    spared = [word for id in deadly for word in ("--skip", id)]
    return Peer("mock driver", (str(program), "-endpoint", "{endpoint}"), tuple(spared))


def refimpl(peer: Peer, endpoint: str, folder: Path) -> Timed:
    """`refimpl test csi ENDPOINT`."""
    words = ["test", "csi", endpoint, "-q", "--report-dir", str(folder), *peer.ours]
    began = time.monotonic()
    subprocess.run([*REFIMPL, *words], capture_output=True, check=False)
    whole_s = time.monotonic() - began
    cases = [case for case in events.read(folder / "events.jsonl") if isinstance(case, CaseDone)]
    judged = [case.duration_s for case in cases if case.outcome != "skip"]
    return Timed(len(judged), sum(judged), whole_s)


def sanity(program: Path, endpoint: str, folder: Path) -> Timed:
    """csi-sanity with the same socket."""
    report = folder / "sanity.json"
    words = [
        f"--csi.endpoint={endpoint}",
        f"--csi.mountdir={folder}/target",
        f"--csi.stagingdir={folder}/staging",
        f"--ginkgo.json-report={report}",
    ]
    began = time.monotonic()
    subprocess.run([str(program), *words], capture_output=True, check=False)
    whole_s = time.monotonic() - began
    suite = json.loads(report.read_text())[0]
    specs = [spec for spec in suite["SpecReports"] if spec["LeafNodeType"] == "It"]
    judged = sum(spec["State"] in ("passed", "failed") for spec in specs)
    return Timed(judged, suite["RunTime"] / 1e9, whole_s)


def with_driver(peer: Peer, run: Callable[[str, Path], Timed]) -> Timed:
    """One run against a fresh driver."""
    process = Supervised(peer.command).start().ready()
    try:
        with tempfile.TemporaryDirectory() as folder:
            return run(str(process.endpoint), Path(folder))
    finally:
        process.close()


def compare(peer: Peer, program: Path, rounds: int = ROUNDS) -> tuple[list[Timed], list[Timed]]:
    """Ours and theirs, in turns."""
    our_runs, their_runs = [], []
    for _ in range(rounds):
        their_runs.append(
            with_driver(peer, lambda endpoint, folder: sanity(program, endpoint, folder))
        )
        our_runs.append(with_driver(peer, lambda endpoint, folder: refimpl(peer, endpoint, folder)))
    return our_runs, their_runs


def median(runs: Sequence[Timed], figure: Callable[[Timed], float]) -> float:
    """The median of one figure."""
    return statistics.median(figure(run) for run in runs)


def main() -> int:
    """Prints the figures; exit code 1 when a case of ours takes longer than a spec of theirs."""
    program, peer = peers() / "csi-sanity-5.6.0" / "csi-sanity", mock_driver()
    missing = [path for path in (program, Path(peer.command[0])) if not path.is_file()]
    if missing:
        print(f"{missing[0].name} is not built; `tox -e live` builds it")
        return 1
    our_runs, their_runs = compare(peer, program)
    for name, runs, unit in (("csi-sanity", their_runs, "spec"), ("refimpl", our_runs, "case")):
        print(
            f"{name:11} {runs[0].judged:4} on the {peer.name}: {median(runs, _each):5.2f} ms a"
            f" {unit}, {median(runs, _share):5.2f} ms with start and reports"
        )
    holds = median(our_runs, _each) <= median(their_runs, _each)
    print(
        "the claim holds" if holds else "the claim does not hold: a case takes longer than a spec"
    )
    return 0 if holds else 1


def _each(run: Timed) -> float:
    return run.each_ms


def _share(run: Timed) -> float:
    return run.share_ms


if __name__ == "__main__":
    sys.exit(main())
