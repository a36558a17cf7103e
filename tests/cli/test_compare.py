"""`refimpl compare` shows where runs differ, and nothing else."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from conformance.engine.events import CaseDone, End, Run
from refimpl.cli.compare import command


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Writes a stream: `write("a", {"CSI-LV-001": "pass"})` gives its path."""

    def make(name: str, outcomes: dict[str, Any], interface: str = "csi") -> Path:
        run = Run(
            interface=interface,
            target=f"{name} 1.0 at unix:///run/{name}.sock",
            revision="csi-1.13",
            suite="0.1.0",
            seed=1,
            started=0,
            config={},
        )
        cases = [
            CaseDone(id=id, level="MUST", outcome=outcome, duration_s=0, title=f"rule of {id}")
            for id, outcome in outcomes.items()
        ]
        failed = "fail" in outcomes.values()
        end = End(counts={}, exit_code=int(failed), duration_s=1)
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"\n".join(msgspec.json.encode(event) for event in (run, *cases, end)))
        return path

    return make


def compare(*paths: Path) -> Result:
    return CliRunner().invoke(command, [str(path) for path in paths], env={"COLUMNS": "80"})


def test_only_cases_that_differ_have_a_row(write: Any) -> None:
    """Two runs agree on nearly everything; what remains fits a screen."""
    a = write("one", {"CSI-LV-001": "pass", "CSI-LV-002": "fail", "CSI-LV-003": "skip"})
    b = write("two", {"CSI-LV-003": "skip", "CSI-LV-002": "pass", "CSI-LV-001": "pass"})
    result = compare(a, b)
    assert result.exit_code == 0
    assert result.output.splitlines()[-4:] == [
        "            A      B",
        "CSI-LV-002  fail   pass   MUST   rule of CSI-LV-002",
        "",
        "1 of 3 cases that ran more than once differ",
    ]


def test_the_runs_are_told_apart_and_have_their_verdict(write: Any) -> None:
    """The columns need names that fit, so a legend says who is who."""
    a = write("one", {"CSI-LV-001": "pass"})
    b = write("two", {"CSI-LV-001": "fail"})
    output = compare(a, b).output
    said = " ".join(output.split())
    assert said.startswith(f"A one 1.0 at unix:///run/one.sock, csi-1.13, {a} Conformant: the one ")
    assert f"B two 1.0 at unix:///run/two.sock, csi-1.13, {b} Not conformant: 1 of 1 MUST " in said
    assert all(len(line) <= 80 for line in output.splitlines() if ".jsonl" not in line)


def test_cases_that_ran_on_one_side_only_are_counted_and_make_no_row(write: Any) -> None:
    """A run that was killed or selected less would fill the table with dashes."""
    a = write("one", {f"CSI-LV-{n:03}": "pass" for n in range(9)})
    b = write("two", {"CSI-LV-000": "pass"})
    lines = compare(a, b).output.splitlines()
    assert lines[-2:] == [
        "0 of 1 cases that ran more than once differ",
        "B did not run CSI-LV-001, CSI-LV-002, CSI-LV-003 and 5 more",
    ]


def test_three_runs_stand_side_by_side(write: Any) -> None:
    """A case that one of them did not run still differs between the others."""
    paths = [
        write("one", {"CSI-LV-001": "pass", "CSI-LV-002": "pass"}),
        write("two", {"CSI-LV-001": "warn"}),
        write("three", {"CSI-LV-002": "xfail"}),
    ]
    lines = compare(*paths).output.splitlines()
    assert "            A      B      C" in lines
    assert "CSI-LV-001  pass   warn   -      MUST   rule of CSI-LV-001" in lines
    assert "CSI-LV-002  pass   -      xfail  MUST   rule of CSI-LV-002" in lines


def test_rows_fit_the_terminal(write: Any) -> None:
    """Long titles are cut, ids and outcomes never."""
    a = write("one", {f"CSI-{'LONG-' * 5}001": "pass"})
    b = write("two", {f"CSI-{'LONG-' * 5}001": "fail"})
    row = next(line for line in compare(a, b).output.splitlines() if line.startswith("CSI-"))
    assert len(row) <= 80
    assert "pass   fail" in row


def test_one_run_is_nothing_to_compare(write: Any) -> None:
    """Exit code 4 says that the command line is wrong."""
    result = compare(write("one", {"CSI-LV-001": "pass"}))
    assert result.exit_code == 4
    assert "name the events.jsonl of two to 26 runs" in result.output


def test_runs_of_different_interfaces_are_nothing_to_compare(write: Any) -> None:
    """An empty table would look like agreement."""
    a = write("one", {"CSI-LV-001": "pass"})
    b = write("two", {"CRI-SB-001": "pass"}, interface="cri")
    result = compare(a, b)
    assert result.exit_code == 4
    assert "no case in common (A is csi, B is cri)" in result.output


def test_an_unreadable_stream_is_a_usage_error(write: Any, tmp_path: Path) -> None:
    """The message names the one that is wrong."""
    result = compare(write("one", {"CSI-LV-001": "pass"}), tmp_path / "none.jsonl")
    assert result.exit_code == 4
    assert "none.jsonl: No such file or directory" in result.output
