"""A streaming server with commands of this machine behind it."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from refimpl.streaming.outcome import Outcome
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.server import StreamingServer
from refimpl.streaming.streams import ForwardFailed, Streams


class Host:
    """Runs commands as they are; a terminal is none, but its sizes are told."""

    def run(self, request: StreamRequest, streams: Streams) -> Outcome:
        if request.tty:
            size = streams.sizes.next(10)
            streams.write("stdout", str(size).encode())
            return Outcome(7)
        with subprocess.Popen(
            request.command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            self.process = process
            threads = [
                threading.Thread(target=_out, args=(process.stdout, streams, "stdout")),
                threading.Thread(target=_out, args=(process.stderr, streams, "stderr")),
            ]
            for thread in threads:
                thread.start()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                while data := streams.stdin.read():
                    process.stdin.write(data)
                process.stdin.close()
            for thread in threads:
                thread.join()
            return Outcome(process.wait())

    def dial(self, _sandbox: str, port: int) -> socket.socket:
        try:
            return socket.create_connection(("127.0.0.1", port), 5)
        except OSError as error:
            raise ForwardFailed(f"error forwarding port {port} to pod: {error}") from None


def _out(pipe, streams: Streams, name: str) -> None:  # type: ignore[no-untyped-def]
    while data := pipe.read(1 << 16):
        streams.write(name, data)


@pytest.fixture
def server() -> Iterator[StreamingServer]:
    served = StreamingServer(Host())
    served.start()
    yield served
    served.close()
