"""`refimpl replay` shows the finding of a mutant again on the mutant, and not on a healthy fake."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone, End, Event, Run

Command = Callable[..., Any]  # see conftest.py

FINDINGS = [
    ("csi", "mutant:ForgetsReadOnly", "CSI-NPUB-006"),
    ("cni", "mutant:ForgetsTheInterface", "CNI-PLG-070"),
    ("deviceplugin", "mutant:RegistersOnce", "DP-PLG-063"),
]


def in_process(*words: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; a traceback is never an answer."""
    command = [sys.executable, "-m", "refimpl", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    return done


def stream(path: Path, *cases: CaseDone, **facts: Any) -> Path:
    """A file with the events of a run on our fake."""
    config = {"target": "fake", **facts}
    run = Run(
        interface="csi",
        target="x",
        revision="csi-1.13",
        suite="0.0.9",
        seed=1,
        started=0,
        config=config,
    )
    every: tuple[Event, ...] = (run, *cases, End(counts={}, exit_code=1, duration_s=1))
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in every))
    return path


def case(id: str, outcome: Any) -> CaseDone:
    """A case of a run that ended so."""
    return CaseDone(id=id, level="MUST", outcome=outcome, duration_s=0)


@pytest.mark.parametrize(("interface", "target", "id"), FINDINGS)
def test_a_finding_shows_again_on_what_is_broken_alone(
    interface: str, target: str, id: str, tmp_path: Path
) -> None:
    """A vendor who has mended his driver learns so from the same line."""
    judged = in_process("test", interface, target, "--only", id, "-q", "--report-dir", tmp_path)
    assert judged.returncode == 1, judged.stdout
    recorded = tmp_path / "events.jsonl"
    again = in_process("replay", recorded, id)
    assert again.returncode == 1, again.stdout
    assert f"{id} shows again." in again.stdout
    (done,) = (event for event in events.read(recorded) if isinstance(event, CaseDone))
    calls = len(done.calls)
    assert f"{calls} of {calls} calls on record" in " ".join(again.stdout.split())
    mended = in_process("replay", recorded, id, "fake")
    assert mended.returncode == 0, mended.stdout
    assert f"{id} does not show again" in mended.stdout
    assert "--whole plays what came before it" in mended.stdout


def test_what_needs_the_case_before_shows_with_it(tmp_path: Path) -> None:
    """A kubelet that calls PreStartContainer once in its life."""
    words = ("--only", "DP-KUB-042", "--only", "DP-KUB-043", "-q", "--report-dir", tmp_path)
    in_process("test", "client", "deviceplugin", "mutant:PreparesOnce", *words)
    recorded = tmp_path / "events.jsonl"
    alone = in_process("replay", recorded, "DP-KUB-043", "--times", "2")
    assert "does not show again: the case passes there at try 2 of 2." in alone.stdout
    whole = in_process("replay", recorded, "DP-KUB-043", "--whole")
    assert "DP-KUB-043 shows again." in whole.stdout


def test_what_judges_the_whole_run_plays_the_whole_run(tmp_path: Path) -> None:
    """Alone it would have little to look back at."""
    words = ("--only", "CSI-NPUB-00*", "--only", "CSI-PROTO-008", "-q", "--report-dir", tmp_path)
    in_process("test", "csi", "mutant:RefusesInSilence", *words)
    again = in_process("replay", tmp_path / "events.jsonl", "CSI-PROTO-008")
    assert "CSI-PROTO-008 shows again." in again.stdout
    assert "after 9 cases that came before it" in " ".join(again.stdout.split())


def test_a_case_that_cannot_be_judged_there_is_no_verdict(tmp_path: Path) -> None:
    """Neither mended nor broken: exit code 5 and the reason."""
    path = stream(tmp_path / "e", case("CSI-CTRL-038", "fail"))
    done = in_process("replay", path, "CSI-CTRL-038", "fake:snapshot-free")
    assert done.returncode == 5, done.stdout
    assert "cannot be judged there" in done.stdout


WRONG = [
    ("CSI-CTRL-14", "no case CSI-CTRL-14 ran there; did you mean CSI-CTRL-014?"),
    ("CSI-CTRL-015", "it passed, so there is nothing to show"),
    ("CSI-CTRL-016", "it was skipped, so nothing was found"),
    ("CSI-CTRL-999", "this version has no such case; the run was made by 0.0.9"),
]


@pytest.mark.parametrize(("id", "sentence"), WRONG)
def test_what_cannot_be_replayed_is_said(
    id: str, sentence: str, refimpl: Command, tmp_path: Path
) -> None:
    """Before anything is opened."""
    path = stream(
        tmp_path / "events.jsonl",
        case("CSI-CTRL-014", "fail"),
        case("CSI-CTRL-015", "pass"),
        case("CSI-CTRL-016", "skip"),
        case("CSI-CTRL-999", "fail"),
    )
    result = refimpl("replay", str(path), id)
    assert result.returncode == 4
    assert sentence in result.message


def test_a_file_that_is_no_stream_is_said(refimpl: Command, tmp_path: Path) -> None:
    """Missing, or of something else."""
    assert "name the events.jsonl of a run" in refimpl("replay", "none.jsonl", "CSI-LV-001").message
    (tmp_path / "x").write_text(json.dumps({"type": "toy"}) + "\n")
    result = refimpl("replay", str(tmp_path / "x"), "CSI-LV-001")
    assert (result.returncode, "no event of ours" in result.message) == (4, True)


def test_a_target_that_is_gone_is_unreachable(
    refimpl: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the run, or the one that is named."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.05")
    gone = f"unix://{tmp_path}/none.sock"
    path = stream(tmp_path / "events.jsonl", case("CSI-CTRL-014", "fail"), target=gone)
    assert refimpl("replay", str(path), "CSI-CTRL-014").returncode == 6
    assert refimpl("replay", str(path), "CSI-CTRL-014", gone).returncode == 6
    assert refimpl("replay", str(path), "CSI-CTRL-014", "nonsense:x").returncode == 4


def test_secrets_are_not_on_record_and_asked_for(refimpl: Command, tmp_path: Path) -> None:
    """A run with other secrets would find something else."""
    settings = {"csi.secrets": "***"}
    path = stream(tmp_path / "e", case("CSI-CTRL-014", "fail"), settings=settings)
    result = refimpl("replay", str(path), "CSI-CTRL-014")
    assert result.returncode == 4
    assert "--csi.secrets, which is not on record: give it again" in result.message


def test_help_has_examples(refimpl: Command) -> None:
    """What a vendor pastes."""
    result = refimpl("replay", "--help")
    assert "refimpl replay out/events.jsonl CSI-CTRL-014" in result.stdout
