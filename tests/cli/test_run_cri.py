"""`refimpl run cri` plays kubelet and shows each call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from refimpl.cli.run import FLOWS
from refimpl.cli.run_cri import NAMESPACE, STEPS
from refimpl.cri.fake import FakeRuntime, Program
from refimpl.cri.kubelet import connect, sandbox_config, start_pod
from refimpl.wire.faults import Faults
from tests.cli.conftest import Command

Start = Callable[..., FakeRuntime]


@pytest.fixture
def start() -> Iterator[Start]:
    """A runtime with these faults; what runs in it ends at once when it is told to."""
    with ExitStack() as stack:

        def start(faults: str = "") -> FakeRuntime:
            fake = FakeRuntime(
                faults=Faults.from_yaml(faults) if faults else None,
                scripts={"sleep 3600": Program(traps={15: 0})},
            )
            fake.start()
            stack.callback(fake.stop)
            return fake

        yield start


def played(output: str) -> list[str]:
    """The RPCs that were printed, in their order."""
    return [line.split()[0] for line in output.splitlines() if line[2:3].isupper()]


def left(fake: FakeRuntime) -> list[str]:
    """The names of the pods that are there."""
    with connect(fake.endpoint) as runtime:
        return [each.metadata.name for each in runtime.list_pod_sandboxes()]


def test_every_flow_can_be_played(refimpl: Command) -> None:
    """The list is kept apart from the code, so that it costs no import."""
    assert STEPS.keys() == FLOWS["cri"].keys()
    for flow in ("start-up", "sync", "gc"):
        assert refimpl("run", "cri", "fake:crio", "--flow", flow).returncode == 0


def test_a_pod_lives_and_every_call_is_a_line(refimpl: Command, start: Start) -> None:
    """Start, sync, probe, kill, GC, as the runtime has seen it; nothing is left."""
    fake = start()
    result = refimpl("run", "cri", str(fake.endpoint), "--flow", "pod", "--image", "a.example/c:1")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line for line in result.stdout.splitlines() if not line.startswith(" ")] == [
        *("connect", "start", "sync", "probe", "kill", "gc")
    ]
    assert played(result.stdout) == [call.rpc for call in fake.journal.calls()]
    assert played(result.stdout)[:7] == [
        *("Version", "RunPodSandbox", "PodSandboxStatus"),
        *("ImageStatus", "PullImage", "CreateContainer", "StartContainer"),
    ]
    assert "  probe true: success" in result.stdout.splitlines()
    assert left(fake) == []


def test_a_refusal_is_exit_code_1_and_leaves_nothing(refimpl: Command, start: Start) -> None:
    """What was made until then is collected, and no more is asked of a pod that is none."""
    fake = start("- {when: {method: StartContainer}, do: {status: {code: ABORTED}}}")
    result = refimpl("run", "cri", str(fake.endpoint), "--flow", "pod", "--image", "a.example/c:1")
    assert result.returncode == 1
    assert "start: refused: ABORTED" in result.message
    assert "ABORTED" in result.stdout
    assert "ExecSync" not in played(result.stdout)
    assert left(fake) == []


def test_a_reply_that_kubelet_cannot_use_is_told(refimpl: Command, start: Start) -> None:
    """The runtime says OK, and kubelet fails all the same."""
    fake = start("- {when: {method: Status}, do: {mutate: {status: null}}}")
    result = refimpl("run", "cri", str(fake.endpoint), "--flow", "start-up")
    assert result.returncode == 1
    assert "Status: kubelet takes no reply without status.conditions" in result.message


def test_gc_removes_what_flows_have_left_and_nothing_else(refimpl: Command, start: Start) -> None:
    """Pods of a node in use are not ours to remove."""
    fake = start()
    with connect(fake.endpoint) as runtime:
        start_pod(runtime, sandbox_config("ours", NAMESPACE))
        start_pod(runtime, sandbox_config("theirs", "default"))
    result = refimpl("run", "cri", str(fake.endpoint), "--flow", "gc", "-v")
    assert result.returncode == 0
    assert "  1 pod removed" in result.stdout.splitlines()
    assert left(fake) == ["theirs"]


def test_what_cannot_be_played_is_said(refimpl: Command, tmp_path: Path) -> None:
    """Nobody there, no image, a profile that does not exist, an option of another interface."""
    nobody = str(tmp_path / "none.sock")
    for words, code, complaint in [
        ((nobody, "--flow", "sync"), 6, "no such file"),
        ((nobody, "--flow", "pod"), 4, "--image: name an image with a shell"),
        (("fake:x", "--flow", "sync"), 4, "legacy-1.7"),
        (("fake", "--flow", "sync", "--netns", "x"), 4, "--netns: an option of cni"),
        (("fake", "--flow", "sync", "--host-network"), 0, ""),
    ]:
        result = refimpl("run", "cri", *words)
        assert result.returncode == code, result.message
        assert complaint in result.message
    result = refimpl("run", "cni", "x.conflist", "--flow", "add", "--image", "x")
    assert "--image: an option of cri" in result.message
