"""What only a process can do: closed streams, kills, hangs, floods, and coming back from them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from refimpl.cni.plugins import configure, records


def start(rig, plugin, verb, **options):
    return subprocess.Popen(
        [rig.bin / plugin],
        stdin=subprocess.PIPE,
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        env=rig.env(verb),
        **options,
    )


def conf(rig) -> bytes:
    return json.dumps(rig.conf()).encode()


def closing(rig, plugin, verb, numbers) -> int:
    """The exit status when streams of these numbers are closed from the beginning."""
    code = (
        "import os, sys\n"
        f"for number in {numbers}: os.close(number)\n"
        "os.execve(sys.argv[1], [sys.argv[1]], dict(os.environ))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, rig.bin / plugin], env=rig.env(verb), input=conf(rig)
    )
    return done.returncode


def test_closed_streams_are_no_files_of_ours(rig) -> None:
    """stderr closed is nobody's trouble; a missing stdin is an error, except for VERSION."""
    assert closing(rig, "bridge", "ADD", [2]) == 0
    assert closing(rig, "bridge", "VERSION", [0]) == 0
    assert closing(rig, "bridge", "DEL", [0]) == 1
    assert closing(rig, "bridge", "DEL", [1, 2]) == 0
    assert closing(rig, "bridge", "VERSION", [1]) == 1
    json.loads(rig.host.kernel.read_bytes())


@pytest.mark.parametrize("how", ["closed", "broken pipe", "full disk"])
def test_a_result_that_nobody_gets_is_undone(rig, how) -> None:
    """The runtime sees a failure, and nothing stays behind."""
    before = rig.host.snapshot()
    if how == "closed":
        assert closing(rig, "bridge", "ADD", [1]) == 1
    elif how == "broken pipe":
        process = start(rig, "bridge", "ADD")
        process.stdout.close()
        process.stdin.write(conf(rig))
        process.stdin.close()
        assert process.wait() == 1
        process.stderr.close()
    else:
        with open("/dev/full", "wb") as full:
            process = start(rig, "bridge", "ADD", stdout=full)
            process.communicate(conf(rig))
        assert process.returncode == 1
    assert before.difference(rig.host.snapshot()) == []
    assert rig.reserved() == {}


def test_an_odd_environment_has_no_effect(rig, tmp_path) -> None:
    """No HOME, no PATH, a directory that is gone, umask 0."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os, sys\n"
        f"os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); os.umask(0)\n"
        "os.execve(sys.argv[1], [sys.argv[1]], dict(os.environ))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, rig.bin / "bridge"],
        env=rig.env("ADD"),
        input=conf(rig),
        capture_output=True,
    )
    assert done.returncode == 0, done
    assert (rig.store / "net" / "10.1.0.2").stat().st_mode & 0o777 == 0o644
    assert rig.journal.stat().st_mode & 0o777 == 0o600


def test_stdin_may_come_byte_by_byte(rig) -> None:
    """A slow runtime is read to the end."""
    process = start(rig, "bridge", "ADD", bufsize=0)
    for byte in conf(rig):
        process.stdin.write(bytes([byte]))
    out, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(out)["ips"]


def test_hang_is_in_the_journal_and_ends_with_the_process(rig) -> None:
    """A call without an end, for who looks why nothing comes."""
    rig.fault("rec", "hang", "ADD")
    process = start(rig, "rec", "ADD")
    process.stdin.write(b"{}")
    process.stdin.close()
    while not records(rig.journal):
        assert process.poll() is None
    process.kill()
    process.wait()
    assert process.stdout.read() == b""
    (call,) = records(rig.journal)
    assert (call["stdin"], call["status"], call["end_ns"]) == (b"{}", None, None)
    process.stdout.close()
    process.stderr.close()


def test_hang_for_a_time_answers_after_it(rig) -> None:
    """With seconds it is only slow."""
    rig.fault("rec", "hang", "ADD", seconds=0.01)
    assert rig.run("rec", "ADD", b"{}").status == 0


def test_hang_unread_leaves_stdin_alone(rig) -> None:
    """Who writes more than a pipe holds is stuck."""
    rig.fault("rec", "hang", "ADD", unread=True)
    process = start(rig, "rec", "ADD")
    os.set_blocking(process.stdin.fileno(), False)
    wrote = 0
    full = False
    while not full and wrote <= 1 << 20:
        try:
            wrote += os.write(process.stdin.fileno(), b"." * 65536)
        except BlockingIOError:
            full = True
    assert full
    process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    process.wait()


def test_slow_stdin_takes_it_in_pieces(rig) -> None:
    """To the end nevertheless."""
    rig.fault("bridge", "slow-stdin", "ADD", bytes=7, seconds=0.0001)
    assert rig.run("bridge", "ADD", conf(rig)).status == 0


def test_close_stdin_breaks_the_writers_pipe(rig) -> None:
    """And the plugin, having read nothing, refuses."""
    rig.fault("bridge", "close-stdin", "ADD")
    process = start(rig, "bridge", "ADD", bufsize=0)
    out = process.stdout.read()
    process.wait()
    assert json.loads(out)["code"] == 6
    with pytest.raises(BrokenPipeError):
        os.write(process.stdin.fileno(), b"x")
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


@pytest.mark.parametrize("detach", [False, True])
def test_hold_stdout_leaves_a_child_at_the_pipes(rig, detach) -> None:
    """The plugin has ended, its stdout has not."""
    rig.fault("rec", "hold-stdout", "DEL", seconds=3600, detach=detach)
    process = start(rig, "rec", "DEL", start_new_session=True)
    process.stdin.close()
    assert process.wait() == 0
    os.set_blocking(process.stdout.fileno(), False)
    assert process.stdout.read() is None  # no end of file
    pid = _child_of(process.pid, rig)
    deadline = time.monotonic() + 20
    while (os.getsid(pid) == process.pid) is detach:  # it makes its session after it is born
        assert time.monotonic() < deadline
    os.kill(pid, signal.SIGKILL)
    os.set_blocking(process.stdout.fileno(), True)
    assert process.stdout.read() == b""
    process.stdout.close()
    process.stderr.close()


def _child_of(_pid: int, rig) -> int:
    """The process that runs a plugin of this rig."""
    mark = str(rig.bin).encode()
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                if mark in (place / "cmdline").read_bytes():
                    return int(place.name)
            except OSError:
                continue
    raise AssertionError("no plugin is running")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_flood_writes_so_many_bytes(rig, stream) -> None:
    """In front of the answer."""
    rig.fault("rec", "flood", "DEL", bytes=3_000_001, stream=stream)
    answer = rig.run("rec", "DEL", b"{}")
    assert answer.status == 0
    assert len(getattr(answer, stream)) == 3_000_001


def test_a_signal_ends_the_process(rig) -> None:
    """11 where none is named."""
    rig.fault("rec", "signal", "DEL")
    assert rig.run("rec", "DEL", b"{}").status == -signal.SIGSEGV


def test_no_lock_gives_addresses_twice(rig) -> None:
    """Every rival has looked before the first one writes."""
    rig.fault("host-local", "no-lock")

    def one(n: int) -> str:
        answer = rig.run("host-local", "ADD", conf(rig), CNI_CONTAINERID=f"p{n}")
        return json.loads(answer.stdout)["ips"][0]["address"]

    with ThreadPoolExecutor(12) as pool:
        given = list(pool.map(one, range(24)))
    assert len(set(given)) < 24


def test_lock_file_blocks_the_next_after_a_kill(rig) -> None:
    """A file outlives its process, a flock does not."""
    rig.fault("host-local", "lock-file")
    rig.fault("host-local", "crash-after", "ADD", point="address", times=1)
    assert rig.run("host-local", "ADD", rig.conf()).status == -9
    assert rig.run("host-local", "ADD", rig.conf(), CNI_CONTAINERID="c2").code == 5


@pytest.mark.parametrize("point", ["start", "ipam", "link", "result"])
def test_del_after_a_kill_leaves_nothing(rig, point) -> None:
    """Wherever the ADD was."""
    before = rig.host.snapshot()
    rig.fault("bridge", "crash-after", "ADD", point=point)
    assert rig.run("bridge", "ADD", rig.conf(isGateway=True)).status == -9
    assert rig.run("bridge", "DEL", rig.conf()).status == 0
    assert before.difference(rig.host.snapshot()) == []
    assert rig.reserved() == {}


@pytest.mark.parametrize("point", ["ipam", "link"])
def test_a_del_that_was_killed_can_be_repeated(rig, point) -> None:
    """It picks up where the first one was."""
    before = rig.host.snapshot()
    rig.add()
    rig.fault("bridge", "crash-after", "DEL", point=point, times=1)
    assert rig.run("bridge", "DEL", rig.conf()).status == -9
    assert rig.run("bridge", "DEL", rig.conf()).status == 0
    assert before.difference(rig.host.snapshot()) == []


def test_settings_that_are_gone_are_named(rig) -> None:
    """As an error object: the runtime shows it."""
    (rig.bin / "rec.settings.json").unlink()
    document = rig.run("rec", "ADD", b"{}").document
    assert document["code"] == 5
    assert "rec.settings.json" in document["msg"]


def test_the_interpreters_own_variables_are_not_passed_on(rig) -> None:
    """In the C locale it adds one; a delegate gets what its caller got."""
    configure(rig.bin / "rec", role="ipam")
    rig.run("bridge", "ADD", rig.conf(ipam={"type": "rec"}), LC_ALL=None, LANG="C")
    assert rig.calls("rec")[0]["env"] == rig.env("ADD", LANG="C")
