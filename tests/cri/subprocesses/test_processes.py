"""Real processes as kubelet sees them: codes, signals, logs, variables, folders, and their end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.verdict import eventually
from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith
from tests.cri.runtime_rig import RuntimeRig, container_config, sandbox_config
from tests.cri.subprocesses.processes import alive, pid_in, state_of

SH = ["/bin/sh", "-c"]


def config(script: str, **more: Any) -> pb.ContainerConfig:
    """A container that is a shell with a script; `more` are fields."""
    sent = container_config(command=[*SH, script])
    sent.MergeFrom(pb.ContainerConfig(**more))
    return sent


def ended(rig: RuntimeRig, id: str) -> pb.ContainerStatus:
    """Its status once it has exited."""
    eventually(lambda: rig.status(id).state == pb.CONTAINER_EXITED, 20, "it has exited")
    return rig.status(id)


def output(rig: RuntimeRig, tmp_path: Path, sent: pb.ContainerConfig) -> list[str]:
    """What a container writes until its end, a line each, without times."""
    pod = sandbox_config(log_directory=str(tmp_path))
    sandbox = rig.cri.run_pod_sandbox(pod)
    id = rig.cri.create_container(sandbox, sent, pod)
    rig.cri.start_container(id)
    path = ended(rig, id).log_path
    return [line.partition(" ")[2] for line in Path(path).read_text(errors="replace").splitlines()]


@pytest.mark.parametrize(
    ("script", "code", "reason"),
    [("exit 0", 0, "Completed"), ("exit 7", 7, "Error"), ("kill -USR1 $$", 138, "Error")],
)
def test_exit_codes_are_those_of_the_process(
    rig: RuntimeRig, script: str, code: int, reason: str
) -> None:
    """CRI-CT-019, 020: 128 + number for a signal."""
    status = ended(rig, rig.run(rig.sandbox(), config(script)))
    assert (status.exit_code, status.reason) == (code, reason)


@pytest.mark.parametrize(("grace", "code"), [(20, 3), (0, 137)])
def test_a_stop_is_its_signal_then_the_kill(
    rig: RuntimeRig, tmp_path: Path, grace: int, code: int
) -> None:
    """CRI-CT-024, 025: a handler runs, unless there is no time for it."""
    ready = tmp_path / "ready"
    script = f"trap 'exit 3' TERM; echo $$ > {ready}; while :; do sleep 60 & wait $!; done"
    id = rig.run(rig.sandbox(), config(script))
    pid = pid_in(ready)
    rig.cri.stop_container(id, grace)
    assert ended(rig, id).exit_code == code
    assert not alive(pid)


def test_one_that_does_not_listen_is_killed_after_its_grace(
    rig: RuntimeRig, tmp_path: Path
) -> None:
    """CRI-CT-026."""
    ready = tmp_path / "ready"
    script = f"trap '' TERM; echo $$ > {ready}; while :; do sleep 60 & wait $!; done"
    id = rig.run(rig.sandbox(), config(script))
    pid_in(ready)
    rig.cri.stop_container(id, 1)
    assert ended(rig, id).exit_code == 137


def test_the_stop_signal_of_the_container_counts(rig: RuntimeRig) -> None:
    """CRI-CT-031: SIGUSR2 has no handler, so that it is the end."""
    id = rig.run(rig.sandbox(), config("sleep 60", stop_signal=pb.SIGNAL_SIGUSR2))
    rig.cri.stop_container(id, 20)
    assert ended(rig, id).exit_code == 128 + signal.SIGUSR2


@pytest.mark.parametrize(("profile", "left"), [("containerd", 1), ("crio", 0)])
@pytest.mark.parametrize(
    ("command", "code", "word"),
    [(["/nonexistent/x"], 127, "no such file"), (["/etc"], 128, "permission denied")],
)
def test_what_cannot_be_started_has_exited_or_is_gone(
    refused: RefusedWith, profile: str, left: int, command: list[str], code: int, word: str
) -> None:
    """CRI-CT-018, D7."""
    with RuntimeRig(model="subprocess", profile=profile) as rig:
        id = rig.create(rig.sandbox(), container_config(command=command))
        with refused(Code.UNKNOWN, word, command[0]):
            rig.cri.start_container(id)
        containers = rig.cri.list_containers()
        assert len(containers) == left
        for _ in containers:
            status = rig.status(id)
            assert (status.state, status.exit_code) == (pb.CONTAINER_EXITED, code)
            assert status.reason == "StartError"
        rig.fake.close()


def test_a_container_goes_with_all_that_it_has_started(rig: RuntimeRig, tmp_path: Path) -> None:
    """Also what has left its session, once the first process ends by itself."""
    hidden = tmp_path / "hidden"
    script = f"setsid sh -c 'echo $$ > {hidden}; sleep 600' & while [ ! -s {hidden} ]; do :; done"
    id = rig.run(rig.sandbox(), config(script))
    pid = pid_in(hidden)
    assert ended(rig, id).exit_code == 0
    assert not alive(pid)


def test_nothing_is_left_of_a_runtime_that_is_killed(tmp_path: Path) -> None:
    """By the keepers, who see the end of their connection."""
    hidden, socket = tmp_path / "hidden", tmp_path / "cri.sock"
    command = [sys.executable, "-m", "refimpl", "serve", "cri", str(socket)]
    command += ["--model", "subprocess", "--image", "example.com/a:1"]
    temporary = {**os.environ, "TMPDIR": str(tmp_path)}  # where it cannot clear up any more
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=temporary) as runtime:
        assert runtime.stdout is not None
        assert runtime.stdout.readline().startswith("ready")
        cri = kubelet.connect(str(socket))
        script = f"setsid sh -c 'echo $$ > {hidden}; sleep 600' & sleep 600"
        sandbox = cri.run_pod_sandbox(sandbox_config())
        sent = config(script, image=pb.ImageSpec(image="example.com/a:1"))
        id = cri.create_container(sandbox, sent, sandbox_config())
        cri.start_container(id)
        eventually(lambda: hidden.exists() and hidden.read_text().endswith("\n"), 20, "it runs")
        first = json.loads(cri.container_status(id, verbose=True).info["info"])["pid"]
        runtime.kill()
        cri.close()
    for pid in (first, int(hidden.read_text())):
        eventually(lambda pid=pid: not alive(pid), 20, f"process {pid} is gone")


def test_each_is_in_a_session_of_its_own(rig: RuntimeRig) -> None:
    """So that a signal to the runtime's group does not reach it."""
    id = rig.run(rig.sandbox(), config("sleep 600"))
    pid = json.loads(rig.cri.container_status(id, verbose=True).info["info"])["pid"]
    assert os.getsid(pid) == os.getpgid(pid) == pid


def test_it_has_no_descriptor_but_three(rig: RuntimeRig, tmp_path: Path) -> None:
    """Neither of the runtime nor of its keeper."""
    lines = output(rig, tmp_path, config("ls /proc/$$/fd"))
    assert lines == ["stdout F 0", "stdout F 1", "stdout F 2"]


def test_output_is_in_the_log(rig: RuntimeRig, tmp_path: Path) -> None:
    """Both streams, also more than a pipe holds, and what has no line feed at its end."""
    script = "echo one; echo two >&2; head -c 300000 /dev/zero | tr '\\0' x; printf end"
    lines = output(rig, tmp_path, config(script))
    assert {"stdout F one", "stderr F two"} <= set(lines)
    written = "".join(line.split(" ", 2)[2] for line in lines if line.startswith("stdout P"))
    assert written == "x" * 300_000 + "end"


def test_variables_arguments_and_folder_are_the_images_and_the_containers(
    rig: RuntimeRig, tmp_path: Path
) -> None:
    """Nothing of the runtime's own: it may hold secrets."""
    os.environ["REFIMPL_SECRET"] = "x"
    envs = [pb.KeyValue(key="A", value=b"1 2"), pb.KeyValue(key="B", value=b"\xff")]
    sent = config(
        'echo "$A $1"; pwd; env; printf %s "$B" | od -An -tx1',
        envs=envs,
        args=["sh", "argument"],
        working_dir=str(tmp_path),
    )
    try:
        lines = output(rig, tmp_path, sent)
    finally:
        del os.environ["REFIMPL_SECRET"]
    assert lines[:2] == ["stdout F 1 2 argument", f"stdout F {tmp_path}"]
    assert "stdout F HOSTNAME=pod" in lines
    assert lines[-1].split() == ["stdout", "F", "ff"]
    assert not any("SECRET" in line for line in lines)


def test_temporary_files_go_with_their_container(rig: RuntimeRig, tmp_path: Path) -> None:
    """Which has a folder for them."""
    (line,) = output(rig, tmp_path, config('touch "$TMPDIR/file"; echo "$TMPDIR"'))
    path = Path(line.split(" ", 2)[2])
    assert (path / "file").exists()
    (container,) = rig.cri.list_containers()
    rig.cri.remove_container(container.id)
    assert not path.exists()


@pytest.mark.parametrize("wanted", ["/nonexistent/app", "../../nonexistent/app"])
def test_a_folder_that_the_machine_does_not_have_is_made_for_the_container_alone(
    rig: RuntimeRig, tmp_path: Path, wanted: str
) -> None:
    """Below what the runtime keeps, and nowhere else; it goes with the container."""
    (line,) = output(rig, tmp_path, config("pwd", working_dir=wanted))
    path = Path(line.split(" ", 2)[2])
    assert path.is_relative_to(tmp_path / "state")
    assert path.is_dir()
    (container,) = rig.cri.list_containers()
    rig.cri.remove_container(container.id)
    assert not path.exists()


def test_usage_is_the_kernels(rig: RuntimeRig, tmp_path: Path) -> None:
    """Time of a child that has ended counts, too."""
    ready = tmp_path / "ready"
    script = (
        f"sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; echo 1 > {ready}; sleep 600"
    )
    id = rig.run(rig.sandbox(), config(script))
    pid_in(ready)
    stats = rig.runtime.ContainerStats(pb.ContainerStatsRequest(container_id=id)).stats
    assert stats.cpu.usage_core_nano_seconds.value > 10_000_000
    assert stats.memory.working_set_bytes.value > 100_000


def test_its_status_says_that_nothing_is_isolated(rig: RuntimeRig) -> None:
    """For whoever reads `crictl info`."""
    info = rig.runtime.Status(pb.StatusRequest(verbose=True)).info
    assert json.loads(info["model"])["isolation"] == "none"
    assert not rig.runtime.Status(pb.StatusRequest()).info


def test_it_stands_still_while_it_is_paused(rig: RuntimeRig, tmp_path: Path) -> None:
    """With what it has started."""
    child = tmp_path / "child"
    id = rig.run(rig.sandbox(), config(f"sh -c 'echo $$ > {child}; exec sleep 600' & wait"))
    pid = pid_in(child)
    container = rig.fake.state.containers.get(id)
    processes = rig.fake.state.processes("")

    processes.pause(container)
    eventually(lambda: state_of(pid) == "T", 10, "it stands still")
    processes.resume(container)
    eventually(lambda: state_of(pid) == "S", 10, "it goes on")


def test_many_at_once(rig: RuntimeRig) -> None:
    """Started by many threads, and all gone with their sandbox."""
    sandbox, ids = rig.sandbox(), list[str]()

    def run(number: int) -> None:
        ids.append(
            rig.run(sandbox, config("sleep 600", metadata=pb.ContainerMetadata(attempt=number)))
        )

    threads = [threading.Thread(target=run, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pids = [
        json.loads(rig.cri.container_status(id, verbose=True).info["info"])["pid"] for id in ids
    ]
    assert len(pids) == 10
    assert all(map(alive, pids))
    rig.cri.remove_pod_sandbox(sandbox)
    assert not any(map(alive, pids))
