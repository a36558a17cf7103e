"""The command as a user runs it, without the price of a process each time."""

from __future__ import annotations

import sys
from collections.abc import Callable

import attrs
import pytest

from refimpl.cli.main import main


@attrs.frozen
class Result:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def message(self) -> str:
        """All of stderr on one line."""
        return " ".join(self.stderr.split())


Command = Callable[..., Result]


@pytest.fixture
def refimpl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`refimpl("list", "csi")`, through the very function that the console script calls."""

    def run(*words: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["refimpl", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert isinstance(ended.value.code, int)
        return Result(ended.value.code, out, err)

    return run
