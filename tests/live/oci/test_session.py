"""crictl against runc under our runtime: a session as a person types it, and what it leaves."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.engine.targets.supervise import Supervised
from conformance.engine.verdict import eventually
from tests.live.test_crictl import CONTAINER, IMAGE, POD, crictl_at
from tests.live.test_crictl_processes import LOOK, typed

PROGRAM = "trap 'echo bye; exit 3' TERM; echo hello; while :; do sleep 60 & wait $!; done"

Run = Callable[..., str]


def _left() -> list[str]:
    """What a runtime of this model has of the kernel, by where it is seen."""
    groups = [str(each) for each in Path("/sys/fs/cgroup").glob("*/refimpl-oci-*")]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    links = [name for _, name in socket.if_nameindex() if name.startswith("rioci")]
    return [*groups, *(line for line in mounts if "/run/refimpl-oci/" in line), *links]


@pytest.fixture
def before() -> list[str]:
    """What others have, who may run beside this test."""
    return _left()


def _begun(run: Run, folder: Path) -> tuple[str, str]:
    """A pod with a container that runs; their ids."""
    pod = POD | {"log_directory": str(folder / "logs"), "hostname": "web"}
    container = CONTAINER | {"command": ["sh", "-c", PROGRAM]}
    for name, content in (("pod.json", pod), ("container.json", container)):
        (folder / name).write_text(json.dumps(content))
    run("pull", IMAGE)
    sandbox = run("runp", "pod.json").strip()
    id = run("create", sandbox, "container.json", "pod.json").strip()
    run("start", id)
    return sandbox, id


def test_a_session_from_pull_to_rmi_leaves_nothing(
    crictl: Path, serve: Callable[..., Supervised], tmp_path: Path, before: list[str]
) -> None:
    """In namespaces of its own, on a network of real plugins, in a terminal too."""
    runtime = serve()
    endpoint = str(runtime.endpoint)
    run = crictl_at(crictl, endpoint, tmp_path)
    sandbox, id = _begun(run, tmp_path)
    address = json.loads(run("inspectp", sandbox))["status"]["network"]["ip"]
    assert address in run("exec", id, "ip", "addr")
    assert run("exec", "-s", id, "hostname").strip() == "web"
    assert run("exec", id, "cat", "/proc/1/comm") == "pause\n"
    assert "7" in run("exec", id, "sh", "-c", "exit 7", status=1)
    status, shown = typed([str(crictl), "-r", endpoint, "exec", "-it", id, "sh"], LOOK)
    assert "33 99\r\n/dev/pts/" in shown
    assert (status, "exit code 5" in shown) == (1, True)
    assert id[:13] in run("stats", "--seconds", "0")
    run("stop", "--timeout", "20", id)
    assert json.loads(run("inspect", id))["status"]["exitCode"] == 3
    assert run("logs", id) == "hello\nbye\n"
    run("rm", id)
    run("stopp", sandbox)
    run("rmp", sandbox)
    run("rmi", IMAGE)
    runtime.close()
    assert sorted(_left()) == sorted(before)


def test_what_a_killed_runtime_leaves_goes_with_the_next_start(
    crictl: Path, serve: Callable[..., Supervised], tmp_path: Path, before: list[str]
) -> None:
    """Its processes go at once; mounts, cgroups and links are cleared by the next one."""
    runtime = serve()
    run = crictl_at(crictl, str(runtime.endpoint), tmp_path)
    _, id = _begun(run, tmp_path)
    pid = json.loads(run("inspect", id))["info"]["pid"]
    assert Path(f"/proc/{pid}").exists()
    runtime.kill()
    eventually(lambda: not Path(f"/proc/{pid}").exists(), 20, "its processes are gone")
    serve().close()
    assert sorted(_left()) == sorted(before)


def test_an_unknown_handler_is_refused_and_kata_says_that_it_is_virtual(
    crictl: Path, serve: Callable[..., Supervised], tmp_path: Path
) -> None:
    """CRI-SB-003, and a handler without an OCI runtime."""
    run = crictl_at(crictl, str(serve("--handler", "kata").endpoint), tmp_path)
    assert "runtime_handler 'nobody' is none of" in run(
        "runp", "--runtime", "nobody", "pod.json", status=1
    )
    assert json.loads(run("pods", "-o", "json"))["items"] == []
    assert "virtual" in json.loads(run("info"))["model"]["handlers"]["kata"]
    sandbox = run("runp", "--runtime", "kata", "pod.json").strip()
    run("rmp", "-f", sandbox)
