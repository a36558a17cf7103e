"""Targets that we start ourselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from conformance.engine.options import BadOption
from conformance.engine.targets.supervise import Supervised
from refimpl.wire.client import Unreachable

FAKE = (sys.executable, "-m", "refimpl", "serve", "csi", "{endpoint}", "--state-dir", "{dir}")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    """Starts commands and ends what is still running."""
    started: list[Supervised] = []

    def run(command: Sequence[str]) -> Supervised:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Supervised(command, folder=folder).start())
        return started[-1]

    yield run
    for process in started:
        process.close()


def test_a_driver_is_started_and_ends_when_told(start: object) -> None:
    """With its socket and its directory filled in."""
    process = start(FAKE).ready()  # type: ignore[operator]
    assert process.running()
    assert Path(process.endpoint.path).is_socket()
    assert process.terminate() == 0
    assert not Path(process.endpoint.path).exists()


def test_a_killed_driver_is_started_again_at_the_same_place(start: object) -> None:
    """That is what crash cases do."""
    process = start(FAKE).ready()  # type: ignore[operator]
    process.kill()
    assert process.status() == -9
    assert process.start().ready().running()


def test_a_command_that_ends_at_once_is_reported_with_its_last_words(start: object) -> None:
    """A wrong flag is the usual reason."""
    process = start([sys.executable, "-c", "raise SystemExit('no such flag: --x')"])  # type: ignore[operator]
    with pytest.raises(Unreachable, match="ended with 1") as reached:
        process.ready()
    assert "no such flag: --x" in str(reached.value)


def test_a_command_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    """Exit code 4, before the run."""
    with pytest.raises(BadOption, match="no-such-driver"):
        Supervised(["./no-such-driver"], folder=tmp_path).start()


def test_a_folder_too_deep_for_a_socket_is_a_usage_error(tmp_path: Path) -> None:
    """The variable that chooses it is named."""
    with pytest.raises(BadOption, match=r"at most 107 .*TMPDIR"):
        Supervised(["x"], folder=tmp_path / ("d" * 90))


def test_an_interface_has_placeholders_of_its_own(tmp_path: Path) -> None:
    """They stand above those that every command has."""
    values = {"dir": "/elsewhere", "registry": "/r"}
    process = Supervised(["x", "{dir}", "{registry}", "{node}"], folder=tmp_path, values=values)
    assert process.command == ["x", "/elsewhere", "/r", "refimpl-node"]


STUBBORN = """
import os, sys, threading
from refimpl.csi.fake import FakeDriver
if os.path.exists(sys.argv[1].removeprefix("unix://")):
    sys.exit("address already in use")
with FakeDriver(sys.argv[1], storage="directory"):
    threading.Event().wait()
"""


def test_a_socket_in_the_way_of_a_restart_is_removed_and_told(start: object) -> None:
    """Many drivers do not bind over what a crash left, and who starts them removes it."""
    process = start([sys.executable, "-c", STUBBORN, "{endpoint}"]).ready()  # type: ignore[operator]
    process.kill()
    assert Path(process.endpoint.path).is_socket()
    assert "did not start over the socket that it had left" in process.revive()
    assert process.running()


def test_a_driver_that_starts_over_its_socket_needs_no_help(start: object) -> None:
    """And nothing is told."""
    process = start(FAKE).ready()  # type: ignore[operator]
    process.kill()
    assert process.revive() == ""
    assert process.running()


def test_a_driver_that_does_not_start_again_is_out_of_reach(start: object, tmp_path: Path) -> None:
    """With its last words."""
    flag = tmp_path / "flag"
    once = f"import os, sys; os.path.exists({str(flag)!r}) and sys.exit('no more'); " + STUBBORN
    process = start([sys.executable, "-c", once, "{endpoint}"]).ready()  # type: ignore[operator]
    process.kill()
    flag.touch()
    with pytest.raises(Unreachable, match="no more"):
        process.revive()
