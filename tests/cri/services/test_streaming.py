"""Commands in containers over the socket, and the URLs that lead to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.clocks import ManualClock
from refimpl.streaming.client import SpdyCommandClient, Unexpected
from refimpl.streaming.forward_client import (
    ForwardClient,
    forward_over_spdy,
    forward_through_websocket,
)
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.protocols import SPDY_TUNNEL
from refimpl.streaming.websocket_client import WebSocketClient
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith
from tests.cri.runtime_rig import RuntimeRig, container_config


@pytest.fixture
def id(rig: RuntimeRig) -> str:
    """A container that runs."""
    return rig.run(rig.sandbox())


def test_a_command_tells_its_output_and_its_exit_code(rig: RuntimeRig, id: str) -> None:
    """CRI-EX-001, 002: an exit code is no error of the call."""
    reply = rig.cri.exec_sync(id, ["echo", "-n", "hello"])
    assert (reply.stdout, reply.stderr, reply.exit_code) == (b"hello", b"", 0)
    assert rig.cri.exec_sync(id, ["sh", "-c", "echo out; exit 3"]).exit_code == 3


def test_a_command_that_takes_too_long_is_over(id: str, rig: RuntimeRig) -> None:
    """CRI-EX-003, D14: refused, or an exit code, by profile."""
    request = pb.ExecSyncRequest(container_id=id, cmd=["sleep", "60"], timeout=1)
    with pytest.raises(Exception, match="did not end within 1 s"):
        rig.runtime.ExecSync(request)
    with RuntimeRig(profile="crio") as other:
        late = pb.ExecSyncRequest(
            container_id=other.run(other.sandbox()), cmd=["sleep", "60"], timeout=1
        )
        reply = other.runtime.ExecSync(late)
        assert (reply.exit_code, reply.stderr) == (-1, b"command timed out")


@pytest.mark.parametrize(
    "streams", [{}, {"stdout": True, "stderr": True, "tty": True}], ids=["none", "tty and stderr"]
)
def test_streams_that_cannot_be_are_refused(
    rig: RuntimeRig, id: str, refused: RefusedWith, streams: dict[str, bool]
) -> None:
    """CRI-EX-019, 020: of Exec and of Attach."""
    with refused(Code.INVALID_ARGUMENT):
        rig.runtime.Exec(pb.ExecRequest(container_id=id, cmd=["true"], **streams))
    with refused(Code.INVALID_ARGUMENT):
        rig.runtime.Attach(pb.AttachRequest(container_id=id, **streams))


def test_commands_need_a_container_that_runs(rig: RuntimeRig, refused: RefusedWith) -> None:
    """CRI-EX-010, 011, 012, 021; D18: CRI-O looks when the URL is used."""
    created = rig.create(rig.sandbox())
    with refused(Code.FAILED_PRECONDITION, "CREATED"):
        rig.cri.exec_sync(created, ["true"])
    with refused(Code.NOT_FOUND):
        rig.cri.exec_sync("unknown", ["true"])
    with refused(Code.INVALID_ARGUMENT, "cmd is empty"):
        rig.cri.exec_sync(created, [])
    with RuntimeRig(profile="crio") as other:
        request = pb.ExecRequest(
            container_id=other.create(other.sandbox()), cmd=["true"], stdout=True
        )
        assert other.runtime.Exec(request).url.startswith("http://127.0.0.1:")


def attached(rig: RuntimeRig, id: str, **flags: bool) -> SpdyCommandClient:
    """A client of the first process."""
    asked = {"stdin": True, "stdout": True, **flags}
    url = rig.runtime.Attach(pb.AttachRequest(container_id=id, **asked)).url
    return SpdyCommandClient(url, **{"stderr": False, **asked})


def reading(rig: RuntimeRig, *command: str, **more: bool) -> str:
    """A container whose program reads what is sent."""
    config = container_config(command=command)
    for name, value in {"stdin": True, **more}.items():
        setattr(config, name, value)
    return rig.run(rig.sandbox(), config)


def test_who_is_attached_talks_to_the_program_until_it_ends(rig: RuntimeRig) -> None:
    """CRI-EX-047, 050: a shell does what it reads."""
    id = reading(rig, "sh")
    with attached(rig, id) as client:
        client.send(b"echo hello; id -u\n")
        assert client.until(b"hello\n0\n")
        client.send(b"exit 3\n")
        assert client.wait() == Outcome()
    assert rig.status(id).exit_code == 3


def test_all_that_are_attached_see_what_comes_from_now_on(rig: RuntimeRig) -> None:
    """CRI-EX-049, 051: there is no replay."""
    id = reading(rig, "cat")
    with attached(rig, id) as first:
        first.send(b"early\n")
        assert first.until(b"early\n")
        with attached(rig, id, stdin=False) as second:
            for _ in range(100):
                first.send(b"late\n")
                if second.until(b"late\n", timeout_s=0.1):
                    break
            assert b"late" in second.output()
            assert b"early" not in second.output()


def test_the_input_of_one_client_is_all_where_it_is_open_once(rig: RuntimeRig) -> None:
    """stdin_once: the program comes to the end of its input when the first client leaves."""
    id = reading(rig, "cat", stdin_once=True)
    with attached(rig, id) as client:
        client.send(b"all")
        client.end_input()
        assert client.wait() == Outcome()
        assert client.output() == b"all"


def test_a_terminal_has_a_size_an_echo_and_one_output(rig: RuntimeRig, id: str) -> None:
    """CRI-EX-039, 040."""
    flags = {"stdin": True, "stdout": True, "tty": True}
    url = rig.runtime.Exec(pb.ExecRequest(container_id=id, cmd=["sh"], **flags)).url
    with SpdyCommandClient(url, **flags) as client:
        client.resize(120, 40)
        client.send(b"stty size\n")
        assert client.until(b"stty size\r\n40 120\r\n")
        client.send(b"echo wrong >&2\n\x04")
        assert client.wait() == Outcome()
        assert client.output().endswith(b"wrong\r\n")


def test_a_terminal_where_the_container_has_none_is_refused(
    rig: RuntimeRig, id: str, refused: RefusedWith
) -> None:
    """CRI-EX-048, D87: containerd attaches all the same."""
    with refused(Code.INVALID_ARGUMENT, "must match"):
        attached(rig, id, tty=True)
    with (
        RuntimeRig(profile="containerd") as other,
        attached(other, reading(other, "cat"), tty=True) as client,
    ):
        client.send(b"x\n")
        assert client.until(b"x\n")


@pytest.mark.parametrize("opened", [forward_over_spdy, forward_through_websocket])
def test_a_port_at_which_a_program_listens_answers(
    rig: RuntimeRig, opened: Callable[[str], ForwardClient]
) -> None:
    """CRI-EX-053, 055, 062: and one where nobody does is told."""
    sandbox = rig.sandbox()
    rig.run(sandbox, container_config(command=["httpd", "-f", "-p", "8080"]))
    url = rig.runtime.PortForward(pb.PortForwardRequest(pod_sandbox_id=sandbox)).url
    with opened(url) as client:
        assert b"connection refused" in client.ask(81, b"")
        reply = client.ask(8080, b"GET / HTTP/1.0\r\n\r\n")
        assert reply.startswith(b"HTTP/1.0 200 OK")
    rig.cri.stop_pod_sandbox(sandbox)
    url = rig.runtime.PortForward(pb.PortForwardRequest(pod_sandbox_id=sandbox)).url
    with opened(url) as client:
        assert b"it is stopped" in client.ask(8080, b"")


def test_a_url_is_good_for_a_minute_of_the_runtime() -> None:
    """CRI-EX-024: by its clock, which may stand still."""
    clock = ManualClock()
    with RuntimeRig(clock=clock) as rig:
        id = rig.run(rig.sandbox())
        request = pb.ExecRequest(container_id=id, cmd=["true"], stdout=True)
        late, early = rig.runtime.Exec(request).url, rig.runtime.Exec(request).url
        clock.advance(59)
        with SpdyCommandClient(early, stderr=False) as client:
            assert client.wait() == Outcome()
        clock.advance(2)
        with pytest.raises(Unexpected, match="404"):
            SpdyCommandClient(late)


def test_stock_servers_know_neither_v5_nor_the_tunnel() -> None:
    """Contract 5: containerd and CRI-O serve with one library; D85: and burn a misused URL."""
    with RuntimeRig(profile="containerd") as rig:
        sandbox = rig.sandbox()
        request = pb.ExecRequest(container_id=rig.run(sandbox), cmd=["true"], stdout=True)
        for url, name in (
            (rig.runtime.Exec(request).url, "v5.channel.k8s.io"),
            (
                rig.runtime.PortForward(pb.PortForwardRequest(pod_sandbox_id=sandbox)).url,
                SPDY_TUNNEL,
            ),
        ):
            with pytest.raises(Unexpected, match="403"):
                WebSocketClient(url, name)
        url = rig.runtime.Exec(request).url
        for path in (url.replace("/exec/", "/attach/"), url):
            with pytest.raises(Unexpected, match="404"):
                SpdyCommandClient(path)
