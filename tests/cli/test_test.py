"""`refimpl test` from outside: what it does with targets and options that are wrong."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone, End, Run
from conformance.engine.verdict import eventually
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.fake import FakeDriver
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel
from refimpl.wire.faults import Faults

Command = Callable[..., Any]  # see conftest.py
# A shell has its background jobs ignore some signals, and those hand that on.
HEEDING = ("env", "--default-signal=INT,HUP")
REFIMPL = (*HEEDING, sys.executable, "-m", "refimpl")
FEW = ("--only", "CSI-CTRL-00*")


def in_process(*words: str, limit_s: float = 60) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; a traceback is never an answer."""
    result = subprocess.run(
        [*REFIMPL, *words], capture_output=True, text=True, timeout=limit_s, check=False
    )
    assert "Traceback" not in result.stdout + result.stderr
    return result


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody comes late in these tests, so nobody is waited for."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.05")


@pytest.mark.usefixtures("_hasty")
def test_an_endpoint_that_is_missing_is_unreachable(refimpl: Command, tmp_path: Path) -> None:
    """Exit code 6 and one sentence, not 300 failures."""
    result = refimpl("test", "csi", f"unix://{tmp_path}/none.sock")
    assert result.returncode == 6
    assert "there is no such file" in result.message
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.usefixtures("_hasty")
def test_a_file_that_is_no_socket_is_unreachable(refimpl: Command, tmp_path: Path) -> None:
    """The path is right, the thing is not."""
    (tmp_path / "file").write_text("x")
    result = refimpl("test", "csi", str(tmp_path / "file"))
    assert result.returncode == 6
    assert "socket" in result.message


@contextlib.contextmanager
def _listening(path: Path, answer: bytes) -> Iterator[None]:
    """A server that takes connections, says `answer`, and then says nothing more."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    peers: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = server.accept()
                peers.append(peer)
                peer.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        for peer in peers:
            peer.close()


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n", b""])
def test_a_server_that_does_not_speak_grpc_is_unreachable(
    refimpl: Command, tmp_path: Path, answer: bytes
) -> None:
    """Also one that takes the connection and then hangs: never an endless wait."""
    with _listening(tmp_path / "x.sock", answer):
        result = refimpl("test", "csi", str(tmp_path / "x.sock"))
    assert result.returncode == 6
    assert "gRPC" in result.message or "HTTP/2" in result.message


def test_a_driver_that_hangs_fails_its_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call has a deadline."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.01")
    faults = Faults.from_yaml("- {when: {method: CreateVolume}, do: {hang: {}}}")
    with FakeDriver(faults=faults) as csi:
        result = in_process("test", "csi", str(csi.endpoint), "--only", "CSI-CTRL-001")
    assert result.returncode == 1
    assert "DEADLINE_EXCEEDED" in result.stdout


def test_a_driver_that_dies_in_the_middle_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what was found so far in the reports. It is waited for, but not half a minute here."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.1")
    faults = tmp_path / "faults.yaml"
    faults.write_text("- {when: {nth: 3}, do: {crash: {point: CreateVolume.before_effect}}}")
    serve = [*REFIMPL, "serve", "csi", str(tmp_path / "c.sock"), "--faults", str(faults)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout
        assert driver.stdout.readline().startswith("ready")
        words = ("--report-dir", str(tmp_path / "out"), *FEW)
        result = in_process("test", "csi", str(tmp_path / "c.sock"), *words)
        driver.kill()
    assert result.returncode == 6
    assert "nobody answers" in " ".join(result.stdout.split())
    kinds = [type(event) for event in events.read(tmp_path / "out" / "events.jsonl")]
    assert (kinds[0], kinds[-1]) == (Run, End)
    assert CaseDone in kinds
    assert (tmp_path / "out" / "report.html").exists()


def test_a_report_folder_that_cannot_be_written_is_said_before_the_run(
    refimpl: Command, tmp_path: Path
) -> None:
    """Not after an hour of work."""
    (tmp_path / "file").write_text("x")
    result = refimpl("test", "csi", "fake", "--report-dir", str(tmp_path / "file" / "out"))
    assert result.returncode == 4
    assert "--report-dir" in result.message
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("test", "csy"), "csy"),
        (("test", "csi", "fake", "--level", "musty"), "musty"),
        (("test", "csi", "fake", "--no-such-option"), "--no-such-option"),
        (("test", "csi", "fake", "--focus", "("), "regular expression"),
        (("test", "csi", "fake", "--expect", "/nowhere.toml"), "nowhere"),
        (("test", "csi", "fake", "--revision", "csi-2.0"), "csi-1.13"),
        (("test", "csi", "fake:no-such-profile"), "no-such-profile"),
        (("test", "csi", "/nowhere.toml"), "nowhere.toml"),
        (("test", "csi", "http://localhost"), "http"),
        (("test", "all", "unix:///x.sock"), "all"),
        (("test", "csi", "--", "./no-such-driver"), "no-such-driver"),
        (("test", "csi", "fake", "--csi.secrets", "/nowhere.yaml"), "nowhere.yaml"),
        (("test", "csi", "fake", "--csi.createmountpathcmd", "x"), "createstagingpathcmd"),
    ],
)
def test_a_wrong_word_is_a_usage_error_that_names_it(
    refimpl: Command, words: tuple[str, ...], message: str
) -> None:
    """Exit code 4, one sentence, nothing run."""
    result = refimpl(*words)
    assert result.returncode == 4, result.stderr
    assert message in result.message


def test_an_option_of_csi_sanity_has_one_dash_or_two(tmp_path: Path) -> None:
    """Their scripts move over unchanged."""
    (tmp_path / "s.yaml").write_text("CreateVolumeSecret: {key: value}\n")
    for dash in ("-", "--"):
        result = in_process(
            "test", "csi", "fake", f"{dash}csi.secrets={tmp_path}/s.yaml", "-q", *FEW
        )
        assert result.returncode == 0, result.stdout + result.stderr


def test_events_go_to_stdout_as_json_lines() -> None:
    """For programs; nothing else is on stdout."""
    result = in_process("test", "csi", "fake", "--json", *FEW)
    types = [json.loads(line)["type"] for line in result.stdout.splitlines()]
    assert types[0] == "run"
    assert types[-1] == "end"
    assert set(types[1:-1]) == {"case"}


def test_words_after_pytest_go_to_pytest() -> None:
    """Unread."""
    result = in_process("test", "csi", "fake", *FEW, "--pytest", "-k", "without_a_name", "--json")
    assert result.returncode == 4
    result = in_process("test", "csi", "fake", "--json", *FEW, "--pytest", "-k", "without_a_name")
    assert result.stdout.count('"type":"case"') == 1


def test_two_workers_tell_one_stream(tmp_path: Path) -> None:
    """The controller writes it."""
    out = tmp_path / "out"
    result = in_process("test", "csi", "fake", "-n", "2", "--report-dir", str(out), *FEW)
    assert result.returncode == 0, result.stdout + result.stderr
    stream = events.read(out / "events.jsonl")
    ids = [event.id for event in stream if isinstance(event, CaseDone)]
    assert len(ids) == len(set(ids)) > 3
    assert sorted(path.name for path in out.iterdir()) == [
        "badge.json",
        "events.jsonl",
        "junit_csi.xml",
        "report.html",
        "summary.md",
    ]


def test_the_same_cases_run_under_plain_pytest(tmp_path: Path) -> None:
    """With workers, too, and with our reports when asked."""
    out = tmp_path / "out"
    words = ["--pyargs", "conformance.csi", "-q", "-k", "without_a_name", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *words, "-n", "2"),
            *("--refimpl-target", "fake", "--refimpl-report-dir", str(out)),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 passed" in result.stdout
    assert (out / "junit_csi.xml").exists()


def test_what_a_killed_run_has_made_can_be_swept(tmp_path: Path) -> None:
    """SIGKILL in the middle of a create: its answer is lost, the volume is not."""
    faults = Faults.from_yaml("- {when: {method: DeleteVolume}, do: {status: UNAVAILABLE}}")
    with FakeDriver(tmp_path / "c.sock", faults=faults) as csi:
        target = f"unix://{tmp_path}/c.sock"
        run = subprocess.Popen([*REFIMPL, "test", "csi", target, "--only", "CSI-CTRL-019"])
        while not csi.journal.calls("CreateVolume"):
            assert run.poll() is None
            threading.Event().wait(0.01)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        faults.clear()
        with Channel(csi.endpoint) as channel:
            controller = Driver.over(channel).controller
            assert controller.ListVolumes(pb.ListVolumesRequest()).entries
            result = in_process("sweep", "csi", target)
            assert result.returncode == 0, result.stdout + result.stderr
            assert "CreateVolume undone" in result.stdout
            assert not controller.ListVolumes(pb.ListVolumesRequest()).entries
    assert "nothing to do" in in_process("sweep", "csi", target).stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_an_interrupted_run_ends_with_2_and_its_reports(
    tmp_path: Path, workers: str, number: signal.Signals
) -> None:
    """In the middle of a call: Ctrl-C, which reaches every process of the terminal, or SIGTERM,
    or SIGHUP."""
    faults = Faults.from_yaml("- {when: {method: DeleteVolume}, do: {hang: {}}}")
    out = tmp_path / "out"
    with FakeDriver(tmp_path / "c.sock", faults=faults) as csi:
        words = ("-n", workers, "--report-dir", str(out), "--only", "CSI-CTRL-0*")
        run = subprocess.Popen(
            [*REFIMPL, "test", "csi", str(tmp_path / "c.sock"), *words],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not csi.journal.calls("CreateVolume"):
            assert run.poll() is None
            threading.Event().wait(0.01)
        if number == signal.SIGINT:
            os.killpg(run.pid, number)  # a terminal tells all of its processes
        else:
            run.send_signal(number)
        # What hangs is let go, so that cleaning up does not wait for deadlines.
        faults.clear()
        output, wrong = run.communicate(timeout=60)
    assert run.returncode == 2, output + wrong
    assert "Traceback" not in output + wrong
    assert sorted(path.name for path in out.iterdir()) == [
        "badge.json",
        "events.jsonl",
        "junit_csi.xml",
        "report.html",
        "summary.md",
    ]
    (end,) = [event for event in events.read(out / "events.jsonl") if isinstance(event, End)]
    assert end.exit_code == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_second_signal_ends_a_run_at_once(
    tmp_path: Path, workers: str, number: signal.Signals
) -> None:
    """Though the driver answers nothing that is asked to clean up, which takes a minute each. What
    is left is told with the command that removes it."""
    faults = Faults.from_yaml("- {when: {method: DeleteVolume}, do: {hang: {}}}")
    target = str(tmp_path / "c.sock")
    with FakeDriver(target, faults=faults) as csi:
        words = ("-n", workers, "--only", "CSI-CTRL-0*")
        run = subprocess.Popen(
            [*REFIMPL, "test", "csi", target, *words],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not csi.journal.calls("CreateVolume"):
            assert run.poll() is None
            threading.Event().wait(0.01)
        output, wrong = _ended_by(run, number)
        faults.clear()
        swept = in_process("sweep", "csi", target)
    assert run.returncode == 2, output + wrong
    assert "Traceback" not in output + wrong
    assert f"ended at once; it leaves what refimpl sweep csi {target} removes" in wrong
    assert swept.returncode == 0, swept.stdout


def test_a_second_signal_ends_what_the_run_has_started(tmp_path: Path) -> None:
    """The drivers of its workers, too."""
    rules, marker = tmp_path / "rules.yaml", tmp_path / "journal"
    rules.write_text("- {when: {method: DeleteVolume}, do: {hang: {}}}")
    serve = (*REFIMPL, "serve", "csi", "{endpoint}", "--faults", str(rules))
    words = ("-n", "2", "--only", "CSI-CTRL-0*", "--", *serve, "--journal", str(marker))
    run = subprocess.Popen([*REFIMPL, "test", "csi", *words], stderr=subprocess.PIPE, text=True)
    while not (marker.exists() and "CreateVolume" in marker.read_text()):
        assert run.poll() is None
        threading.Event().wait(0.01)
    assert "ended at once" in _ended_by(run, signal.SIGTERM)[1]
    assert run.returncode == 2
    eventually(lambda: not _started_with(rules), 10.0, "the drivers are gone")
    assert "removed" in in_process("sweep").stdout, (
        "the folder of the run, with what is mounted in it"
    )


def _ended_by(run: subprocess.Popen[str], number: signal.Signals) -> tuple[str, str]:
    """What a run said that is told to end, and told again after a while if it has not ended."""
    for _ in range(3):
        run.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(0.7)  # one that comes at once after the first counts as the same
            break
    return run.communicate(timeout=10)


def _started_with(file: Path) -> list[str]:
    """The processes whose command names a file."""
    commands = Path("/proc").glob("[0-9]*/cmdline")
    found = []
    for each in commands:
        with contextlib.suppress(OSError):
            if str(file).encode() in each.read_bytes():
                found.append(each.parent.name)
    return found
