"""Commands in containers over the socket, and the URLs that lead to them."""

from __future__ import annotations

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith
from tests.cri.runtime_rig import RuntimeRig


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


def test_what_the_model_cannot_do_yet_is_told_on_the_stream(rig: RuntimeRig, id: str) -> None:
    """The URL is right, and so is the client."""
    reply = rig.runtime.Attach(pb.AttachRequest(container_id=id, stdout=True))
    assert "/attach/" in reply.url
    forward = pb.PortForwardRequest(pod_sandbox_id=rig.fake.sandboxes("uid-pod")[0].id, port=[80])
    assert "/portforward/" in rig.runtime.PortForward(forward).url
