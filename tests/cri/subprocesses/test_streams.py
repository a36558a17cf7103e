"""Commands in real processes, terminals, who is attached, and real ports."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from conformance.engine.verdict import eventually
from refimpl.cri.api import cri_pb2 as pb
from refimpl.streaming.client import SpdyCommandClient
from refimpl.streaming.forward_client import forward_over_spdy
from refimpl.streaming.outcome import Outcome
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith
from tests.cri.runtime_rig import RuntimeRig, container_config
from tests.cri.subprocesses.processes import alive, pid_in

SH = ["/bin/sh", "-c"]


def shell(rig: RuntimeRig, script: str = "sleep 600", **more: bool) -> str:
    """A container that runs a script."""
    config = container_config(command=[*SH, script])
    for name, value in more.items():
        setattr(config, name, value)
    return rig.run(rig.sandbox(), config)


def executing(rig: RuntimeRig, id: str, *command: str, **flags: bool) -> SpdyCommandClient:
    """A client of a command."""
    asked = {"stdout": True, **flags}
    url = rig.runtime.Exec(pb.ExecRequest(container_id=id, cmd=command, **asked)).url
    return SpdyCommandClient(url, **{"stderr": False, **asked})


def attached(rig: RuntimeRig, id: str, **flags: bool) -> SpdyCommandClient:
    """A client of the first process."""
    asked = {"stdin": True, "stdout": True, **flags}
    url = rig.runtime.Attach(pb.AttachRequest(container_id=id, **asked)).url
    return SpdyCommandClient(url, **{"stderr": False, **asked})


def test_exec_sync_tells_both_outputs_and_the_code(rig: RuntimeRig) -> None:
    """CRI-EX-001, 002; also of a signal, and where a child holds the outputs open."""
    id = shell(rig)
    reply = rig.cri.exec_sync(id, [*SH, "echo out; echo err >&2; sleep 600 & exit 3"])
    assert (reply.stdout, reply.stderr, reply.exit_code) == (b"out\n", b"err\n", 3)
    assert rig.cri.exec_sync(id, [*SH, "kill -9 $$"]).exit_code == 137


def test_a_command_that_is_nowhere_is_refused(rig: RuntimeRig, refused: RefusedWith) -> None:
    """And the container runs on."""
    id = shell(rig)
    with refused(Code.UNKNOWN, "/nonexistent/x"):
        rig.cri.exec_sync(id, ["/nonexistent/x"])
    with executing(rig, id, "/nonexistent/x") as client:
        outcome = client.wait()
        assert outcome is not None
        assert "/nonexistent/x" in outcome.error
    assert rig.status(id).state == pb.CONTAINER_RUNNING


def test_a_command_that_takes_too_long_is_killed(rig: RuntimeRig, tmp_path: Path) -> None:
    """CRI-EX-003: with what it has started."""
    child = tmp_path / "child"
    request = pb.ExecSyncRequest(
        container_id=shell(rig),
        cmd=[*SH, f"sh -c 'echo $$ > {child}; exec sleep 600'; true"],
        timeout=1,
    )
    with pytest.raises(Exception, match="did not end within 1 s"):
        rig.runtime.ExecSync(request)
    eventually(lambda: not alive(pid_in(child)), 20, "its child is gone")


def test_a_command_reads_to_the_end_of_what_is_sent(rig: RuntimeRig) -> None:
    """More than a pipe holds, and all of it."""
    sent = bytes(range(256)) * 2000
    with executing(rig, shell(rig), "cat", stdin=True) as client:
        client.send(sent)
        client.end_input()
        assert client.wait() == Outcome()
        assert client.output() == sent


def test_a_command_goes_with_its_client(rig: RuntimeRig, tmp_path: Path) -> None:
    """Nobody else ends it."""
    path = tmp_path / "pid"
    with executing(rig, shell(rig), *SH, f"echo $$ > {path}; exec sleep 600"):
        pid = pid_in(path)
    eventually(lambda: not alive(pid), 20, "it was killed")


def test_a_command_goes_with_its_container(rig: RuntimeRig) -> None:
    """As in a namespace whose first process has ended."""
    id = shell(rig)
    with executing(rig, id, *SH, "echo here; exec sleep 600") as client:
        assert client.until(b"here\n")
        rig.cri.stop_container(id, 0)
        assert client.wait() == Outcome(exit_code=137)


def test_a_terminal_has_a_size_an_echo_and_one_output(rig: RuntimeRig) -> None:
    """CRI-EX-039, 040; and it is the one that the session is controlled by."""
    with executing(rig, shell(rig), "sh", stdin=True, tty=True) as client:
        client.resize(120, 40)
        client.send(b"until [ \"$(stty size)\" = '40 120' ]; do :; done; echo wide >&2\n")
        assert client.until(b"wide\r\n")
        client.send(b"sh -c \"echo re''ady; exec sleep 600\"\n")
        assert client.until(b"ready\r\n")
        client.send(b"\x03")
        client.send(b"echo code $?\n")
        assert client.until(b"code 130\r\n")
        client.send(b"exit 4\n")
        assert client.wait() == Outcome(exit_code=4)


def test_who_is_attached_talks_to_the_first_process(rig: RuntimeRig) -> None:
    """CRI-EX-047, 050."""
    id = shell(rig, "exec sh", stdin=True)
    with attached(rig, id) as client:
        client.send(b"echo hello\n")
        assert client.until(b"hello\n")
        client.send(b"exit 3\n")
        assert client.wait() == Outcome()
    eventually(lambda: rig.status(id).state == pb.CONTAINER_EXITED, 20, "it has exited")
    assert rig.status(id).exit_code == 3


def test_the_terminal_of_a_container_is_shared(rig: RuntimeRig) -> None:
    """CRI-EX-049: what one types the other sees."""
    id = shell(rig, "exec sh", stdin=True, tty=True)
    with attached(rig, id, tty=True) as first, attached(rig, id, tty=True) as second:
        first.resize(90, 30)
        first.send(b"until [ \"$(stty size)\" = '30 90' ]; do :; done; echo wi''de\n")
        assert first.until(b"wide\r\n")
        for _ in range(100):
            second.send(b"echo bo''th\n")
            if first.until(b"both\r\n", timeout_s=0.1) and second.until(b"both\r\n", timeout_s=0.1):
                break
        assert b"both" in second.output()
        assert b"both" in first.output()
    assert rig.status(id).state == pb.CONTAINER_RUNNING


@pytest.mark.parametrize("once", [True, False])
def test_input_that_is_open_once_ends_with_its_client(rig: RuntimeRig, once: bool) -> None:
    """stdin_once; without it the next client may go on."""
    id = shell(rig, "exec cat", stdin=True, stdin_once=once)
    with attached(rig, id) as client:
        client.send(b"all\n")
        assert client.until(b"all\n")
    if once:
        eventually(lambda: rig.status(id).state == pb.CONTAINER_EXITED, 20, "it has exited")
        return
    with attached(rig, id) as client:
        client.send(b"more\n")
        assert client.until(b"more\n")


def test_a_client_that_does_not_read_holds_nobody_up(rig: RuntimeRig, tmp_path: Path) -> None:
    """It is left behind, and the process goes on."""
    done, go = tmp_path / "done", tmp_path / "go"
    script = f"until [ -e {go} ]; do sleep 0.1; done; head -c 50000000 /dev/zero; echo 1 > {done}"
    id = shell(rig, f"{script}; sleep 600")
    url = rig.runtime.Attach(pb.AttachRequest(container_id=id, stdout=True)).url
    with socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0]))) as deaf:
        path = "/" + url.split("/", 3)[3]
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n"
        deaf.sendall(f"{head}X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n".encode())
        go.touch()
        assert pid_in(done) == 1


def test_a_port_is_one_of_this_machine(rig: RuntimeRig) -> None:
    """CRI-EX-053: and one where nobody listens is told."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(connection.recv(100).upper())

        thread = threading.Thread(target=answer)
        thread.start()
        sandbox = rig.sandbox()
        url = rig.runtime.PortForward(pb.PortForwardRequest(pod_sandbox_id=sandbox)).url
        with forward_over_spdy(url) as client:
            assert client.ask(port, b"hello") == b"HELLO"
        thread.join()
    url = rig.runtime.PortForward(pb.PortForwardRequest(pod_sandbox_id=sandbox)).url
    with forward_over_spdy(url) as client:
        assert b"refused" in client.ask(port, b"").lower()


def test_a_server_answers_at_the_address_of_its_pod(rig: RuntimeRig) -> None:
    """Which no other pod has: a probe of kubelet's goes there."""
    first, second = (rig.cri.pod_sandbox_status(rig.sandbox(name)) for name in ("a", "b"))
    assert first.status.network.ip != second.status.network.ip
    with socket.create_server(("0.0.0.0", 0)) as server:
        address = (first.status.network.ip, server.getsockname()[1])
        socket.create_connection(address, 5).close()
