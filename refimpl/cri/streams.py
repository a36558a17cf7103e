"""Commands and ports of a runtime, for whoever is connected to them: a URL or ExecSync."""

from __future__ import annotations

import socket
import threading

from refimpl.cri.state import RuntimeState
from refimpl.cri.state.models import SandboxState
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.pipe import Pipe
from refimpl.streaming.requests import StreamRequest, Tokens, TooMany
from refimpl.streaming.server import Spoken, StreamingServer
from refimpl.streaming.streams import ForwardFailed, Sizes, Streams
from refimpl.wire.status import Code, Refused

__all__ = ["MOST_OUTPUT", "Collected", "StreamHost"]

MOST_OUTPUT = 16 << 20
"""Bytes of each stream that ExecSync returns (CRI ExecSyncResponse); the rest is dropped."""

_NS = 1_000_000_000


class Collected:
    """The streams of an ExecSync: nothing to read, and all output kept. leave: the caller waits no
    longer."""

    def __init__(self) -> None:
        self.stdin, self.sizes = Pipe(), Sizes()
        self.stdin.end()
        self.output: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._left = threading.Event()

    def write(self, name: str, data: bytes) -> bool:
        """Keeps it."""
        kept = self.output[name]
        kept += data[: MOST_OUTPUT - len(kept)]
        return not self.gone

    @property
    def gone(self) -> bool:
        """Whether nobody waits any more."""
        return self._left.is_set()

    def leave(self) -> None:
        """Nobody waits any more."""
        self._left.set()


class StreamHost:
    """What of a runtime streams are about (`refimpl.streaming.streams.Executor`), and the URLs that
    lead there. Its server is there from the first URL on, until `close`."""

    def __init__(self, state: RuntimeState) -> None:
        self._state = state
        self._server: StreamingServer | None = None
        self._lock = threading.Lock()

    def url(self, request: StreamRequest) -> str:
        """Where it is served, once. RESOURCE_EXHAUSTED where too many wait for their use."""
        with self._lock:
            if self._server is None:
                self._server = self._made()
                self._server.start()
            server = self._server
        try:
            return server.url(request)
        except TooMany as error:
            raise Refused(Code.RESOURCE_EXHAUSTED, str(error)) from None

    def _made(self) -> StreamingServer:
        choices, clock = self._state.settings.streaming, self._state.ports.clock
        return StreamingServer(
            self,
            tokens=Tokens(
                clock=lambda: clock.now() / _NS, other_path_uses=choices.other_path == "used"
            ),
            spoken=Spoken.stock() if choices.spoken == "stock" else Spoken(),
        )

    def run(self, request: StreamRequest, streams: Streams) -> Outcome:
        """Runs a command, or attaches to a container, until that ends or the client has left."""
        try:
            return self.execute(request, streams)
        except Refused as refusal:
            return Outcome(error=refusal.message)

    def execute(self, request: StreamRequest, streams: Streams) -> Outcome:
        """As `run`, but raises Refused where nothing was run."""
        container = self._state.containers.running(request.id, "runs commands")
        processes = self._state.processes(container.handler)
        act = processes.attach if request.kind == "attach" else processes.execute
        return act(container, request, streams)

    def dial(self, sandbox: str, port: int) -> socket.socket:
        """Connects to a port of a sandbox that is ready. Raises ForwardFailed."""
        try:
            found = self._state.sandboxes.get(sandbox)
            if found.state is not SandboxState.READY:
                raise ForwardFailed(
                    f"error forwarding port {port} to pod {found.id}: it is stopped"
                )
            return self._state.processes(found.handler).dial(found, port)
        except Refused as refusal:
            raise ForwardFailed(refusal.message) from None

    def close(self) -> None:
        """Ends the server and every stream. May be called twice."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.close()
