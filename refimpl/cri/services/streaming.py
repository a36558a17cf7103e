"""ExecSync, Exec, Attach and PortForward."""

from __future__ import annotations

from collections.abc import Iterable

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state import RuntimeState
from refimpl.cri.streams import Collected, StreamHost
from refimpl.streaming.requests import StreamRequest
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

__all__ = ["StreamingRpcs"]


class StreamingRpcs:
    """Commands in containers, and ports of sandboxes."""

    def __init__(self, state: RuntimeState, host: StreamHost) -> None:
        self._state, self._host = state, host
        self._choices = state.settings.streaming

    def ExecSync(self, request: pb.ExecSyncRequest, call: Call) -> pb.ExecSyncResponse:
        """Runs a command; its exit code is no error. 0 for a timeout is none."""
        streams, clock = Collected(), self._state.ports.clock
        wanted = self._command(request.container_id, request.cmd)
        call.on_cancel(streams.leave)
        limit = request.timeout
        forget = clock.call_later(limit, streams.leave) if limit > 0 else lambda: None
        with call.waiting():
            outcome = self._host.execute(wanted, streams)
        forget()
        if outcome.error and not streams.gone:
            raise Refused(Code.UNKNOWN, outcome.error)
        reply = pb.ExecSyncResponse(
            stdout=bytes(streams.output["stdout"]),
            stderr=bytes(streams.output["stderr"]),
            exit_code=outcome.exit_code,
        )
        return self._late(reply, limit) if streams.gone else self._sized(reply)

    def Exec(self, request: pb.ExecRequest, call: Call) -> pb.ExecResponse:
        """A URL; nothing runs before it is used."""
        _check_streams(request)
        wanted = self._command(request.container_id, request.cmd)
        return pb.ExecResponse(url=self._host.url(_with_streams(wanted, request)))

    def Attach(self, request: pb.AttachRequest, call: Call) -> pb.AttachResponse:
        """A URL that leads to the first process."""
        _check_streams(request)
        id = self._checked(request.container_id)
        if self._choices.terminal == "checked":
            self._check_terminal(id, request)
        wanted = StreamRequest(kind="attach", id=id)
        return pb.AttachResponse(url=self._host.url(_with_streams(wanted, request)))

    def PortForward(self, request: pb.PortForwardRequest, call: Call) -> pb.PortForwardResponse:
        """A URL; the client may name other ports there."""
        id = self._state.sandboxes.get(request.pod_sandbox_id).id
        wanted = StreamRequest(kind="portforward", id=id, ports=tuple(request.port))
        return pb.PortForwardResponse(url=self._host.url(wanted))

    def _command(self, container_id: str, command: Iterable[str]) -> StreamRequest:
        words = tuple(command)
        if not words:
            raise Refused(Code.INVALID_ARGUMENT, "cmd is empty: name a command")
        return StreamRequest(kind="exec", id=self._checked(container_id), command=words)

    def _checked(self, container_id: str) -> str:
        containers = self._state.containers
        if not container_id:
            raise Refused(Code[self._choices.empty_id], "container_id is empty: name one")
        if self._choices.checked == "call":
            return containers.running(container_id, "runs commands").id
        return containers.get(container_id).id

    def _check_terminal(self, id: str, request: pb.AttachRequest) -> None:
        has = bool(getattr(self._state.containers.get(id).config, "tty", False))
        if has != request.tty:
            raise Refused(
                Code.INVALID_ARGUMENT,
                f"tty is {request.tty}, and {has} in the container's configuration: it must match",
            )

    def _sized(self, reply: pb.ExecSyncResponse) -> pb.ExecSyncResponse:
        most = self._choices.largest_reply
        if most and reply.ByteSize() > most:
            raise Refused(Code.RESOURCE_EXHAUSTED, f"the reply is larger than {most} bytes")
        return reply

    def _late(self, reply: pb.ExecSyncResponse, limit: int) -> pb.ExecSyncResponse:
        if self._choices.exec_timeout == "deadline exceeded":
            raise Refused(Code.DEADLINE_EXCEEDED, f"the command did not end within {limit} s")
        reply.exit_code = -1
        reply.stderr = b"command timed out"
        return reply


def _check_streams(request: pb.ExecRequest | pb.AttachRequest) -> None:
    """CRI ExecRequest: one of three at least, and a terminal has no stderr."""
    if request.tty and request.stderr:
        raise Refused(Code.INVALID_ARGUMENT, "tty and stderr are set: a terminal has one output")
    if not (request.stdin or request.stdout or request.stderr):
        raise Refused(
            Code.INVALID_ARGUMENT, "none of stdin, stdout and stderr is set: set one at least"
        )


def _with_streams(
    wanted: StreamRequest, request: pb.ExecRequest | pb.AttachRequest
) -> StreamRequest:
    return StreamRequest(
        kind=wanted.kind,
        id=wanted.id,
        command=wanted.command,
        stdin=request.stdin,
        stdout=request.stdout,
        stderr=request.stderr,
        tty=request.tty,
    )
