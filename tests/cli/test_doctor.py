"""`refimpl doctor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.engine import doctor
from conformance.engine.doctor import Check

Command = Callable[..., Any]  # see conftest.py
GOOD = Check("python", True, "3.14", "everything", needed=True)
FEWER = Check("go", False, "not on PATH", "building the peers", "install Go " + "soon " * 30)
BROKEN = Check("disk", False, "0 MiB free", "sockets", "free some space", needed=True)


def test_this_machine_is_examined(refimpl: Command) -> None:
    """Whatever it has; every check has its line."""
    result = refimpl("doctor")
    assert result.returncode in (0, 1)
    names = [check.name for check in doctor.examine()]
    lines = result.stdout.splitlines()
    assert [name for name in names if any(line[9:].startswith(name) for line in lines)] == names


@pytest.mark.parametrize(
    ("checks", "code", "marks"),
    [
        ([GOOD], 0, ["ok"]),
        ([GOOD, FEWER], 0, ["ok", "no"]),
        ([GOOD, BROKEN, FEWER], 1, ["ok", "MISSING", "no"]),
    ],
)
def test_only_what_is_needed_makes_it_fail(
    refimpl: Command,
    monkeypatch: pytest.MonkeyPatch,
    checks: list[Check],
    code: int,
    marks: list[str],
) -> None:
    """What is missing says what is lost without it, and what to do; nothing is wider than 80."""
    monkeypatch.setattr(doctor, "examine", lambda: iter(checks))
    result = refimpl("doctor")
    assert result.returncode == code
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == marks
    assert all(len(line) <= 80 for line in lines)
    for check in checks:
        assert (f"without it: {check.allows}" in result.stdout) == (not check.good)
        assert check.good or f"to do: {check.advice[:20]}" in result.stdout
