"""The command group: what it finds, and with which exit code it ends."""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from refimpl import __version__
from refimpl.cli import main as module
from refimpl.cli.errors import TargetUnreachable, Usage

Command = Callable[..., Any]  # see conftest.py


def ended(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    """The exit code where a command ends with this error."""

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(module.command, "main", fail)
    with pytest.raises(SystemExit) as caught:
        module.main()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_every_command_is_there_and_explains_itself(refimpl: Command) -> None:
    """`--help` of each, on at most 100 columns."""
    for name in module.COMMANDS:
        assert isinstance(importlib.import_module(f"refimpl.cli.{name}").command, click.Command)
        result = refimpl(name, "--help")
        assert result.returncode == 0
        assert result.stdout.startswith(f"Usage: refimpl {name}")
        assert all(len(line) <= 100 for line in result.stdout.splitlines()), name


def test_the_help_lists_the_commands_in_the_order_they_are_met(refimpl: Command) -> None:
    """Without importing them: see tests/engine/test_plugin.py."""
    text = refimpl("-h").stdout
    places = [text.index(f"\n  {name} ") for name in module.COMMANDS]
    assert places == sorted(places)
    assert "Examples:" in text


def test_the_version_is_told(refimpl: Command) -> None:
    """For bug reports."""
    assert refimpl("--version").stdout == f"refimpl, version {__version__}\n"


@pytest.mark.parametrize("words", [(), ("tset",), ("--no-such-option",), ("list", "a", "b")])
def test_a_wrong_call_ends_with_4(refimpl: Command, words: tuple[str, ...]) -> None:
    """On stderr, with how it is to be called; stdout is for results."""
    result = refimpl(*words)
    assert (result.returncode, result.stdout) == (4, "")
    assert "Usage: refimpl" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (Usage("no such file"), 4, "no such file"),
        (TargetUnreachable("nobody listens"), 6, "nobody listens"),
        (click.Abort(), 2, "interrupted"),
        (KeyboardInterrupt(), 2, "interrupted"),
        (click.ClickException("it cannot"), 1, "it cannot"),
    ],
)
def test_each_way_to_fail_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    message: str,
) -> None:
    """Scripts rely on them."""
    assert ended(monkeypatch, error) == code
    assert message in capsys.readouterr().err


def test_a_fault_of_ours_is_no_verdict_on_a_target(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, with a traceback for the bug report; Python's own 1 means not conformant."""
    assert ended(monkeypatch, KeyError("wheel")) == 3
    assert "KeyError: 'wheel'" in capsys.readouterr().err


ONE_CASE = ("test", "csi", "--only", "CSI-ID-001")


@pytest.mark.parametrize("words", [("list",), ONE_CASE])
@pytest.mark.parametrize(
    ("redirection", "code", "complaint"),
    [
        ("| true", 0, ""),
        (">/dev/full", 3, "No space left on device"),
        (">&-", 0, ""),
        (">/dev/null 2>/dev/full", 0, ""),
        (">/dev/null <&- 2>&-", 0, ""),
    ],
)
def test_a_stream_that_takes_nothing_changes_no_verdict(
    words: tuple[str, ...], redirection: str, code: int, complaint: str
) -> None:
    """A reader may have enough, and no stream need be there; what a full disk loses is told."""
    line = f"{shlex.join([sys.executable, '-m', 'refimpl', *words])} {redirection}"
    script = f"{line}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == bool(complaint)


@pytest.mark.parametrize(
    "words",
    [
        *(["test", "csi", "--only", "\udcff"], ["test", "csi", "--", "./driver", "\udcff"]),
        *(["test", "\udcff"], ["serve", "csi", "/tmp/\udcff.sock"], ["list", "\udcff"]),
        *(["report", "\udcff"], ["cni", "lint", "\udcff"], ["sweep", "csi", "\udcff"], ["\udcff"]),
    ],
    ids=" ".join,
)
def test_a_word_that_is_no_text_is_a_usage_error(words: list[str], refimpl: Command) -> None:
    """Bytes of the command line that are no UTF-8 arrive as halves of surrogate pairs."""
    result = refimpl(*words)
    assert result.returncode == 4
    assert "\\udcff" in result.message
    assert "is no text in UTF-8" in result.message
