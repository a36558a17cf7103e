"""Streams of a case: URLs of a runtime, and clients of them whose failures are findings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.cri.pods import ContainerUnderTest, PodUnderTest
from conformance.cri.target import CriTarget
from conformance.engine.verdict import Broken, Unjudged, eventually
from refimpl.cni.host import syscalls
from refimpl.cri.api import cri_pb2 as pb
from refimpl.streaming.client import SpdyCommandClient, Unexpected
from refimpl.streaming.forward_client import ForwardClient, forward_over_spdy
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.websocket_client import WebSocketCommandClient
from refimpl.wire.status import Refused

__all__ = [
    "GET",
    "NO_NAME",
    "PORT",
    "V4",
    "attach_url",
    "ended",
    "exec_url",
    "forward_url",
    "over_spdy",
    "over_websocket",
    "reading",
    "speaking",
    "to_ports",
    "web_pod",
]

V4 = "v4.channel.k8s.io"
PORT = 8080
NO_NAME = "no suitable address"
"""Of a runtime that dials localhost where that name has no address of a family."""
GET = b"GET / HTTP/1.0\r\n\r\n"


@contextlib.contextmanager
def speaking(cri: CriTarget, rule: str) -> Iterator[None]:
    """What goes wrong on a stream is a breach of the rule; raises Broken. Connections that this
    thread makes are made where the runtime is, on whose loopback its URLs lead."""
    try:
        with syscalls.inside_path(cri.settings.netns):
            yield
    except (OSError, Unexpected, ValueError) as error:
        got = f"{type(error).__name__}: {error}"
        raise Broken(rule, "a stream that does as it should", got) from None


def exec_url(cri: CriTarget, container: ContainerUnderTest, *command: str, **flags: bool) -> str:
    """Without flags the command has both outputs; raises Refused."""
    flags = flags or {"stdout": True, "stderr": True}
    return str(
        cri.runtime.Exec(pb.ExecRequest(container_id=container.id, cmd=command, **flags)).url
    )


def attach_url(cri: CriTarget, container: ContainerUnderTest, **flags: bool) -> str:
    """Raises Refused."""
    return str(cri.runtime.Attach(pb.AttachRequest(container_id=container.id, **flags)).url)


def forward_url(cri: CriTarget, pod: PodUnderTest, *ports: int) -> str:
    """Raises Refused."""
    request = pb.PortForwardRequest(pod_sandbox_id=pod.id, port=ports)
    return str(cri.runtime.PortForward(request).url)


@contextlib.contextmanager
def over_spdy(
    cri: CriTarget,
    url: str,
    rule: str,
    flags: Mapping[str, bool] | None = None,
    *,
    versions: Sequence[str] = (V4,),
) -> Iterator[SpdyCommandClient]:
    """A client whose failures are breaches of the rule; the flags are those of the request, by
    default both outputs."""
    wanted: Mapping[str, Any] = flags or {"stdout": True, "stderr": True}
    streams = {"stdout": False, "stderr": False, **wanted}
    with speaking(cri, rule), SpdyCommandClient(url, versions=versions, **streams) as client:
        yield client


@contextlib.contextmanager
def over_websocket(
    cri: CriTarget, url: str, rule: str, name: str = V4
) -> Iterator[WebSocketCommandClient]:
    """As `over_spdy`."""
    with speaking(cri, rule), WebSocketCommandClient(url, name, timeout_s=20.0) as client:
        yield client


def ended(client: SpdyCommandClient, rule: str) -> Outcome:
    """How it ended; raises Broken where it goes on."""
    outcome = client.wait(30.0)
    if outcome is None:
        raise Broken(rule, "the stream ends", f"it goes on, after {client.output()[:100]!r}")
    return outcome


def reading(cri: CriTarget, *command: str, tty: bool = False) -> ContainerUnderTest:
    """A container that runs a program which reads its input."""
    pod = cri.pods.shared()
    request = pod.request(command=command)
    request.config.stdin, request.config.tty = True, tty
    container = pod.ask(request)
    container.start()
    return container


def to_ports(cri: CriTarget, pod: PodUnderTest, rule: str, *ports: int) -> Any:
    """A client of its ports over SPDY, whose failures are breaches of the rule."""
    return _forwarding(cri, forward_url(cri, pod, *ports), rule)


@contextlib.contextmanager
def _forwarding(cri: CriTarget, url: str, rule: str) -> Iterator[ForwardClient]:
    with speaking(cri, rule), forward_over_spdy(url) as client:
        yield client


def web_pod(cri: CriTarget, where: str = str(PORT), **more: Any) -> PodUnderTest:
    """A pod with a web server that answers; raises Broken where it never does."""
    pod = cri.pods.run(**{"host_network": False, **more})
    try:
        pod.run(command=("/bin/httpd", "-f", "-p", where, "-h", "/"))
    except Refused as refusal:
        if "httpd" not in refusal.message:
            raise
        raise Unjudged(refusal, "the image has no web server") from None
    port = int(where.rpartition(":")[2])

    rule, words = "the web server in the pod answers through a forwarded port", ""

    def answers() -> bool:
        nonlocal words
        with to_ports(cri, pod, rule) as client:
            words = client.ask(port, GET).decode(errors="replace")
        return bool(words.startswith("HTTP/1."))

    try:
        eventually(answers, 20.0, rule, unless=lambda: NO_NAME if NO_NAME in words else "")
    except Broken as broken:
        raise Broken(rule, broken.wanted, f"still {words or 'nothing'}") from None
    return pod
