"""What the suite finds in real programs shows again when it is replayed, and as a script.

A finding that is repeated costs a process or two, so a sample is; REFIMPL_REPLAY=all repeats every
one.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone

SHOWN = 0.95
"""Of the findings; what depends on the moment of a kill may pass."""

SCRIPTED = 0.7
"""Of the findings: what a case makes besides its calls, such as a delegate, is missing."""

EVERY = 1 if os.environ.get("REFIMPL_REPLAY") == "all" else 5
"""One of so many findings is repeated, by its line and by its script."""

NO_SCRIPT = 4


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A program of Python, with those of the folder on the PATH."""
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def findings(folder: Path, out: Path, *words: str) -> list[str]:
    """The ids of what a run with these words finds; its events lie in `out`."""
    command = ("-m", "refimpl", "test", *words, "--seed", "7", "-q", "--report-dir", str(out))
    done = run(folder, *command)
    assert done.returncode == 1, done.stdout + done.stderr
    cases = (event for event in events.read(out / "events.jsonl") if isinstance(event, CaseDone))
    return [case.id for case in cases if case.outcome in ("fail", "warn")]


def replayed(folder: Path, out: Path, id: str) -> str:
    """Empty where the finding shows again, else the last line of the command."""
    done = run(folder, "-m", "refimpl", "replay", str(out / "events.jsonl"), id)
    assert "Traceback" not in done.stderr, done.stderr
    last = (done.stdout or done.stderr).strip().splitlines()[-1]
    return "" if last == f"{id} shows again." else last


def scripted(folder: Path, out: Path, id: str) -> str:
    """Empty where the script of the finding ends as it did, else why not."""
    command = ("-m", "refimpl", "replay", str(out / "events.jsonl"), id, "--script")
    written = run(folder, *command)
    if written.returncode == NO_SCRIPT:
        return written.stderr.strip().splitlines()[-1]
    path = out / f"{id}.py"
    path.write_text(written.stdout)
    done = run(folder, str(path))
    assert done.returncode in (0, 1), done.stderr
    return "" if done.returncode else f"{id}: {done.stdout.splitlines()[-1]}"


TARGETS = [
    ("mock_driver", ("csi", "kubernetes-mock-driver")),
    ("cni_plugins", ("cni", "exec:{}/bridge", "--cni-path", "{}")),
    ("debian_cni", ("cni", "exec:{}/host-local", "--cni-path", "{}")),
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("peer", "words"), TARGETS, ids=["mock", "bridge", "host-local"])
def test_findings_show_again(
    peer: str, words: tuple[str, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On a fresh target each, by the line that stands under it, and by its calls alone."""
    if os.geteuid() and words[0] == "cni":
        pytest.skip("the plugins are judged as root")
    path: Path = request.getfixturevalue(peer)
    folder = path if path.is_dir() else path.parent
    ids = findings(folder, tmp_path, *(word.format(folder) for word in words))
    assert len(ids) >= 10
    some, ways = ids[::EVERY], ((replayed, SHOWN), (scripted, SCRIPTED))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for way, share in ways:
            ends = pool.map(lambda id, way=way: way(folder, tmp_path, id), some)  # type: ignore[misc]
            missing = [end for end in ends if end]
            assert len(missing) <= math.ceil(round((1 - share) * len(some), 6)), missing
