"""The command as a user runs it, without the price of a process each time."""

from __future__ import annotations

import sys
from collections.abc import Callable

import attrs
import pytest

from refimpl.cli.main import main


@attrs.frozen
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """All of stderr on one line."""
        return " ".join(self.stderr.split())


Command = Callable[..., Done]


@pytest.fixture
def refimpl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`refimpl("list", "csi")`, through the very function that the console script calls."""

    def run(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["refimpl", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, out, err)

    return run
