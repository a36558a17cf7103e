"""Time per case beside csi-sanity's time per spec, on the same driver, in turns.

    python -m benchmarks.per_case CSI_SANITY -- DRIVER … {endpoint} … [-- CSI-SANITY OPTION …]

Whole processes are timed, their start included, each against a driver started afresh. Skipped cases
and specs do not count.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from conformance.engine import events
from conformance.engine.events import CaseDone
from conformance.engine.supervise import Supervised

ROUNDS = 5
REFIMPL = (sys.executable, "-m", "refimpl")


@attrs.frozen
class Timed:
    """One run: seconds, and how many cases or specs were judged."""

    seconds: float
    judged: int

    @property
    def each_ms(self) -> float:
        """Milliseconds for one case or spec."""
        return self.seconds / self.judged * 1000


def ours(endpoint: str, folder: Path) -> Timed:
    """`refimpl test csi ENDPOINT`."""
    began = time.monotonic()
    subprocess.run(
        [*REFIMPL, "test", "csi", endpoint, "-q", "--report-dir", str(folder)],
        capture_output=True,
        check=False,
    )
    seconds = time.monotonic() - began
    done = [each for each in events.read(folder / "events.jsonl") if isinstance(each, CaseDone)]
    return Timed(seconds, sum(each.outcome != "skip" for each in done))


def sanity(program: str, endpoint: str, folder: Path, words: Sequence[str]) -> Timed:
    """csi-sanity with the same socket."""
    report = folder / "sanity.json"
    began = time.monotonic()
    subprocess.run(
        [
            program,
            f"--csi.endpoint={endpoint}",
            f"--csi.mountdir={folder}/target",
            f"--csi.stagingdir={folder}/staging",
            f"--ginkgo.json-report={report}",
            *words,
        ],
        capture_output=True,
        check=False,
    )
    seconds = time.monotonic() - began
    specs = json.loads(report.read_text())[0]["SpecReports"]
    ran = [each["State"] in ("passed", "failed") for each in specs if each["LeafNodeType"] == "It"]
    return Timed(seconds, sum(ran))


def measure(program: str, driver: Sequence[str], words: Sequence[str]) -> tuple[float, float]:
    """Median milliseconds per case of ours and per spec of csi-sanity's; prints every round."""
    mine: list[Timed] = []
    theirs: list[Timed] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            theirs.append(_with(driver, lambda at, f=folder: sanity(program, at, Path(f), words)))
            mine.append(_with(driver, lambda at, f=folder: ours(at, Path(f))))
        print(
            f"csi-sanity {theirs[-1].judged} specs in {theirs[-1].seconds:.2f} s "
            f"({theirs[-1].each_ms:.1f} ms each)   refimpl {mine[-1].judged} cases in "
            f"{mine[-1].seconds:.2f} s ({mine[-1].each_ms:.1f} ms each)",
            flush=True,
        )
    return (
        statistics.median(each.each_ms for each in mine),
        statistics.median(each.each_ms for each in theirs),
    )


def _with(driver: Sequence[str], run: object) -> Timed:
    process = Supervised(driver).start().ready()
    try:
        return run(str(process.endpoint))  # type: ignore[operator, no-any-return]
    finally:
        process.close()


def main() -> int:
    """Exit code 1 when ours takes longer for a case than csi-sanity for a spec."""
    program, _, *rest = sys.argv[1:]
    cut = rest.index("--") if "--" in rest else len(rest)
    mine, theirs = measure(program, rest[:cut], rest[cut + 1 :])
    print(f"median: refimpl {mine:.2f} ms a case, csi-sanity {theirs:.2f} ms a spec")
    return 0 if mine <= theirs else 1


if __name__ == "__main__":
    sys.exit(main())
