"""What the CNI harness costs: an exec beside a bare one of the same program, a fake, a suite.

The bare exec is `subprocess.run` with the same environment and stdin: what a test author would
write by hand. Both run in turns in one process.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from conformance.engine import fixtures
from refimpl.cni.contract import Verb
from refimpl.cni.execute import Processes, Request
from refimpl.cni.plugins import install

ROUNDS = 200
OVERHEAD_MS, FAKE_MS, SUITE_S = 3.0, 25.0, 10.0


def plugins() -> Path:
    """The reference plugins, where `tox -e live` keeps the programs it has built."""
    base = Path(os.environ.get("REFIMPL_PEERS") or "~/.cache/refimpl/peers").expanduser()
    return base / "cni-plugins-1.10.0"


def timed(act: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def bare(path: Path, request: Request) -> None:
    """The exec without a harness."""
    process = subprocess.run(
        [str(path)], input=request.stdin, env=dict(request.env), capture_output=True, check=True
    )
    json.loads(process.stdout)


def harness(path: Path, request: Request) -> None:
    """The exec with everything the suite looks at."""
    assert Processes().run(path, request).document


def per_exec(path: Path) -> tuple[float, float]:
    """Medians in ms: bare and in the harness, in turns."""
    request = Request.of(Verb.VERSION, {"cniVersion": "1.1.0"})
    pairs = [
        (timed(lambda: bare(path, request)), timed(lambda: harness(path, request)))
        for _ in range(ROUNDS)
    ]
    pairs = pairs[ROUNDS // 10 :]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def fake_add() -> float:
    """Median in ms of ADD and DEL of the fake interface plugin with its IPAM, half of the pair."""
    from refimpl.cni.host.simulated import Simulated

    with tempfile.TemporaryDirectory() as folder:
        host = Simulated(Path(folder) / "host")
        install(folder, "fake-host-local", "hostlocal", kernel=host.kernel)
        ipam = {"type": "fake-host-local", "dataDir": folder, "subnet": "10.1.0.0/16"}
        config = {"cniVersion": "1.1.0", "name": "bench", "type": "fake-host-local", "ipam": ipam}
        took = []
        for number in range(ROUNDS):
            for verb in (Verb.ADD, Verb.DEL):
                request = Request.of(
                    verb,
                    config,
                    container_id=f"c{number}",
                    netns="/run/netns/none",
                    ifname="eth0",
                    path=folder,
                )
                path = f"{folder}/fake-host-local"
                took.append(timed(partial(Processes().run, path, request)))
    return statistics.median(took)


def suite(path: Path) -> float:
    """Seconds of the whole suite on host-local, process start and reports included."""
    expect = fixtures.folder() / "expectations" / "cni-host-local.toml"
    words = [sys.executable, "-m", "refimpl", "test", "cni", f"exec:{path}", "-q"]
    words += ["--expect", str(expect)] if expect.is_file() else []
    began = time.perf_counter()
    subprocess.run(words, capture_output=True, check=False)
    return time.perf_counter() - began


def main() -> int:
    """Prints the figures; exit code 1 when a claim does not hold."""
    path = plugins() / "host-local"
    if not path.is_file():
        print("the reference plugins are not built; `tox -e live` builds them")
        return 1
    alone, watched = per_exec(path)
    print(f"exec of host-local VERSION: {alone:.2f} ms bare, {watched:.2f} ms in the harness")
    fake = fake_add()
    print(f"exec of a fake plugin, ADD or DEL of an address: {fake:.2f} ms")
    suite_s = suite(path)
    print(f"the suite on host-local: {suite_s:.1f} s")
    holds = watched - alone <= OVERHEAD_MS and fake <= FAKE_MS and suite_s <= SUITE_S
    print("the claims hold" if holds else "a claim does not hold")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
