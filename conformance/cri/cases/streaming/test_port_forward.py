"""PortForward."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

from conformance.cri.needs import IMAGE, POD_NETWORK
from conformance.cri.refusals import expect_refusal
from conformance.cri.streams import GET, NO_NAME, PORT, V4, forward_url, speaking, to_ports, web_pod
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import Broken, Unjudged, expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.streaming.forward_client import ForwardClient, forward_through_websocket
from refimpl.streaming.websocket_client import WebSocketClient
from refimpl.wire.status import Code, Refused

_CLOSED = 81
_NEEDS = [IMAGE, POD_NETWORK]


def _expect_web(client: ForwardClient, rule: str, port: int = PORT, **how: bool) -> None:
    reply = client.ask(port, GET, **how)
    expect(reply.startswith(b"HTTP/1."), rule, wanted="a reply in HTTP", got=reply[:200])


@case("CRI-EX-052", "containerd, CRI-O: NotFound")
def test_ports_are_of_a_sandbox(cri: CriTarget) -> None:
    """The pod is gone, and somebody may have its address."""
    for id in ("", cri.pods.unknown_id()):
        request = pb.PortForwardRequest(pod_sandbox_id=id, port=[PORT])
        expect_refusal(
            lambda request=request: cri.runtime.PortForward(request, timeout=10),  # type: ignore[misc]
            f"ports of the sandbox {id[:8]!r} are refused",
        )


@case("CRI-EX-053", "CRI v1 PortForward", needs=_NEEDS)
def test_a_web_server_is_reached_over_spdy(cri: CriTarget) -> None:
    """kubectl port-forward."""
    rule = "a web server in the pod answers"
    with to_ports(cri, web_pod(cri), rule, PORT) as client:
        _expect_web(client, rule, fin=False)


@case("CRI-EX-054", "CRI v1 PortForward: on the network of the node", needs=[IMAGE])
def test_ports_of_a_pod_on_the_host_are_those_of_the_host(cri: CriTarget) -> None:
    """Host network is a network, too."""
    rule = "a web server on the host's network answers"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    pod = web_pod(cri, str(port), host_network=True)
    with to_ports(cri, pod, rule, port) as client:
        _expect_web(client, rule, port)


@case("CRI-EX-055", "kubelet: an error per connection", needs=_NEEDS)
def test_a_closed_port_is_told_and_the_session_goes_on(cri: CriTarget) -> None:
    """The program is not up yet; kubectl keeps its port open."""
    rule = "a closed port is told in words, and the next connection works"
    with to_ports(cri, web_pod(cri), rule) as client:
        error, data = client.pair(_CLOSED)
        words = client.received(error)
        expect(words, rule, wanted="words on the error stream", got="none")
        client.received(data)
        _expect_web(client, rule)


@case("CRI-EX-056", "kubectl: a pair for each connection", needs=_NEEDS)
def test_connections_run_side_by_side(cri: CriTarget) -> None:
    """A browser opens six."""
    rule = "ten connections over one session all work"
    with to_ports(cri, web_pod(cri), rule) as client, ThreadPoolExecutor(10) as pool:
        replies = list(pool.map(lambda _: client.ask(PORT, GET), range(10)))
    good = [reply for reply in replies if reply.startswith(b"HTTP/1.")]
    expect(len(good) == len(replies), rule, wanted=10, got=len(good))


@case("CRI-EX-057", "cri-streaming: pairs of old clients", needs=_NEEDS)
def test_a_pair_without_an_id_is_a_pair(cri: CriTarget) -> None:
    """By the place of its streams."""
    rule = "streams without requestid are paired by their ids"
    with to_ports(cri, web_pod(cri), rule) as client:
        _expect_web(client, rule, numbered=False)


@case("CRI-EX-058", "cri-streaming: a port is 1 to 65535")
def test_what_is_no_port_is_reset(cri: CriTarget) -> None:
    """And the session goes on."""
    rule = "a stream whose port is none is reset"
    with to_ports(cri, cri.pods.shared(), rule) as client:
        for port in ("0", "65536", "x"):
            error, _ = client.pair(port)
            expect(client.was_reset(error), rule, wanted=f"a reset for {port!r}", got="none")


@case("CRI-EX-059", "cri-streaming: one direction may end first", needs=_NEEDS)
def test_the_end_of_a_request_is_not_that_of_the_reply(cri: CriTarget) -> None:
    """Clients of HTTP/1.0 close their half."""
    rule = "a reply comes after the client has said all"
    with to_ports(cri, web_pod(cri), rule) as client:
        _expect_web(client, rule, fin=True)


@case("CRI-EX-060", "containerd, CRI-O: IPv4, then IPv6", needs=_NEEDS)
def test_a_server_on_ipv6_alone_is_reached(cri: CriTarget) -> None:
    """To a program localhost is either of both."""
    rule = "a server at ::1 answers"
    try:
        pod = web_pod(cri, f"[::1]:{PORT}")
    except Broken as broken:
        if NO_NAME in broken.got:
            refusal = Refused(Code.UNAVAILABLE, broken.got)
            raise Unjudged(refusal, "localhost has no IPv6 address on the node") from None
        raise
    with to_ports(cri, pod, rule) as client:
        _expect_web(client, rule)


@case("CRI-EX-061", "cri-streaming: v4.channel.k8s.io", needs=_NEEDS)
def test_a_web_server_is_reached_over_a_websocket(cri: CriTarget) -> None:
    """Each channel begins with its port, little endian."""
    rule = "a web server answers over v4.channel.k8s.io"
    url = forward_url(cri, web_pod(cri), PORT)
    with speaking(cri, rule), WebSocketClient(url, V4) as client:
        greeting = [client.receive(), client.receive()]
        wanted = [bytes([channel]) + PORT.to_bytes(2, "little") for channel in (0, 1)]
        expect(greeting == wanted, "channels begin with the port", wanted=wanted, got=greeting)
        client.send(b"\0" + GET)
        reply = client.receive()
    expect(reply.startswith(b"\0HTTP/1."), rule, wanted="a reply in HTTP", got=reply[:200])


@case("CRI-EX-062", "kubernetes: SPDY/3.1+portforward.k8s.io", needs=_NEEDS)
def test_a_web_server_is_reached_through_a_tunnel(cri: CriTarget) -> None:
    """What kubectl speaks today."""
    rule = "a web server answers through SPDY in a WebSocket"
    url = forward_url(cri, web_pod(cri))
    with speaking(cri, rule), forward_through_websocket(url) as client:
        _expect_web(client, rule)


@case("CRI-EX-063", "containerd: the sandbox has to be ready", needs=[IMAGE])
def test_a_pod_that_is_stopped_has_no_ports(cri: CriTarget) -> None:
    """Told at the call or on the stream."""
    rule = "a port of a stopped pod fails"
    pod = cri.pods.run()
    pod.stop()
    try:
        with to_ports(cri, pod, rule) as client:
            error, _ = client.pair(PORT)
            words = client.received(error)
    except Refused:
        return
    expect(words, rule, wanted="words on the error stream", got="none")
