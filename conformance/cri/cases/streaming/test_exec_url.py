"""Exec, and the URL that it answers."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from conformance.cri.needs import IMAGE
from conformance.cri.refusals import expect_refusal
from conformance.cri.streams import V4, ended, exec_url, over_spdy, speaking
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.streaming.client import SpdyCommandClient, upgrade
from refimpl.wire.status import Code, Refused

_SPDY = (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", V4))
_GONE = 404
_MOST = 1_000


def _status(cri: CriTarget, url: str) -> int:
    """That of an answer to whoever wants to speak SPDY."""
    with speaking(cri, "the URL leads to a server"):
        answer = upgrade(url, _SPDY)
        answer.connection.close()
        return answer.status


@case("CRI-EX-017", "CRI v1 ExecResponse.url: fully qualified", needs=[IMAGE])
def test_the_url_is_whole_and_leads_to_a_server(cri: CriTarget) -> None:
    """Kubelet dials it as it is; a port without a host leads nowhere."""
    url = exec_url(cri, cri.pods.shared().run(), "/bin/true")
    parts = urlsplit(url)
    whole = parts.scheme in ("http", "https") and parts.hostname not in (None, "", "::", "0.0.0.0")
    expect(whole, "scheme and host are there", wanted="http://HOST:PORT/PATH", got=url)
    with speaking(cri, "somebody listens there"):
        socket.create_connection((parts.hostname, parts.port or 80), 5).close()


@case("CRI-EX-018", "cri-streaming: InvalidArgument")
def test_a_url_needs_the_id_of_a_container(cri: CriTarget) -> None:
    """Empty is a mistake of the caller."""
    expect_refusal(
        lambda: cri.runtime.Exec(pb.ExecRequest(cmd=["true"], stdout=True), timeout=10),
        "an empty id is refused",
        preferred={Code.INVALID_ARGUMENT, Code.NOT_FOUND},
    )


@case("CRI-EX-019", "CRI v1 ExecRequest: with tty stderr MUST be false", needs=[IMAGE])
def test_a_terminal_has_no_stderr(cri: CriTarget) -> None:
    """It has one output, on which everything comes."""
    container = cri.pods.shared().run()
    expect_refusal(
        lambda: exec_url(cri, container, "/bin/true", stdout=True, stderr=True, tty=True),
        "tty together with stderr is INVALID_ARGUMENT",
        preferred={Code.INVALID_ARGUMENT},
    )


@case("CRI-EX-020", "CRI v1 ExecRequest: one of stdin, stdout, stderr", needs=[IMAGE])
def test_a_command_has_a_stream(cri: CriTarget) -> None:
    """Nobody would hear of it."""
    container = cri.pods.shared().run()
    expect_refusal(
        lambda: exec_url(cri, container, "/bin/true", tty=False),
        "none of the three is INVALID_ARGUMENT",
        preferred={Code.INVALID_ARGUMENT},
    )


@case("CRI-EX-021", "containerd: NotFound (D1)")
def test_there_is_no_url_of_an_unknown_container(cri: CriTarget) -> None:
    """It would lead nowhere."""
    request = pb.ExecRequest(container_id=cri.pods.unknown_id(), cmd=["true"], stdout=True)
    expect_refusal(lambda: cri.runtime.Exec(request, timeout=10), "an unknown container is refused")


@case("CRI-EX-022", "containerd: at the call; CRI-O: on the stream (D18)", needs=[IMAGE])
def test_a_container_that_has_exited_runs_no_command(cri: CriTarget) -> None:
    """Told at one end or at the other."""
    container = cri.pods.shared().run(command=("/bin/true",))
    container.ended()
    rule = "a command in a container that has exited fails"
    try:
        url = exec_url(cri, container, "/bin/true")
    except Refused:
        return
    with over_spdy(cri, url, rule) as client:
        outcome = ended(client, rule)
    expect(outcome.error or outcome.exit_code, rule, wanted="an error", got=outcome)


@case("CRI-EX-023", "cri-streaming: a token is used once", needs=[IMAGE])
def test_a_url_is_good_for_one_use(cri: CriTarget) -> None:
    """Whoever reads it in a log runs nothing."""
    url = exec_url(cri, cri.pods.shared().run(), "/bin/true")
    with over_spdy(cri, url, "a URL is good once") as client:
        ended(client, "a command ends")
    status = _status(cri, url)
    expect(status == _GONE, "the second use is 404", wanted=_GONE, got=status)


@case("CRI-EX-025", "cri-streaming: a path of its own", needs=[IMAGE])
def test_a_url_is_good_for_its_own_path(cri: CriTarget) -> None:
    """The token of a command attaches to nothing (D85: whether it survives is nowhere said)."""
    url = exec_url(cri, cri.pods.shared().run(), "/bin/true")
    other = url.replace("/exec/", "/attach/")
    expect(other != url, "the path of a command is exec", wanted="/exec/TOKEN", got=url)
    status = _status(cri, other)
    expect(status == _GONE, "it is 404 under attach", wanted=_GONE, got=status)


@case("CRI-EX-026", "CRI v1 Exec: prepares a streaming endpoint", needs=[IMAGE])
def test_nothing_runs_before_the_url_is_used(cri: CriTarget) -> None:
    """A client that leaves before has done nothing."""
    container = cri.pods.shared().run()
    path = f"/tmp/refimpl-{container.id[:12]}"

    def content() -> bytes:
        return bytes(cri.kubelet.exec_sync(container.id, ["/bin/cat", path]).stdout)

    url = exec_url(cri, container, "/bin/sh", "-c", f"echo ran >> {path}")
    early = content()
    expect(not early, "it has not run yet", wanted="nothing", got=early)
    with over_spdy(cri, url, "a URL runs its command") as client:
        ended(client, "a command ends")
    expect(content() == b"ran\n", "it has run once then", wanted="ran", got=content())


@case("CRI-EX-027", "cri-streaming: 1000 URLs wait", needs=[IMAGE], heavy=True)
def test_urls_that_nobody_uses_have_a_bound(cri: CriTarget) -> None:
    """RESOURCE_EXHAUSTED, or room for all; nothing else."""
    container = cri.pods.shared().run()
    urls: list[str] = []
    try:
        for _ in range(_MOST + 1):
            urls.append(exec_url(cri, container, "/bin/true"))
    except Refused as refusal:
        full = refusal.code == Code.RESOURCE_EXHAUSTED
        expect(full, "too many are RESOURCE_EXHAUSTED", wanted="RESOURCE_EXHAUSTED", got=refusal)
    finally:
        with speaking(cri, "URLs can be used"):
            for url in urls:  # so that others have room
                upgrade(url, ()).connection.close()


@case("CRI-EX-032", "cri-streaming: 400", needs=[IMAGE])
def test_a_client_names_what_it_speaks(cri: CriTarget) -> None:
    """Without X-Stream-Protocol-Version there is nothing to agree on."""
    _refused(cri, _SPDY[:2], 400, "no version is 400")


@case("CRI-EX-033", "cri-streaming: 403 and what is spoken", needs=[IMAGE])
def test_what_is_not_spoken_is_refused_with_what_is(cri: CriTarget) -> None:
    """A newer client falls back to one of those."""
    asked = (*_SPDY[:2], ("X-Stream-Protocol-Version", "v9.channel.k8s.io"))
    headers = _refused(cri, asked, 403, "an unknown version is 403")
    spoken = headers.get("x-accepted-stream-protocol-versions", ())
    expect(V4 in " ".join(spoken), "the answer lists what is spoken", wanted=V4, got=spoken)


@case("CRI-EX-034", "cri-streaming: 400", needs=[IMAGE])
def test_a_stream_needs_an_upgrade(cri: CriTarget) -> None:
    """Plain HTTP carries no streams."""
    _refused(cri, _SPDY[2:], 400, "a request without Upgrade is 400")


def _refused(
    cri: CriTarget, headers: tuple[tuple[str, str], ...], wanted: int, rule: str
) -> dict[str, tuple[str, ...]]:
    url = exec_url(cri, cri.pods.shared().run(), "/bin/true")
    with speaking(cri, rule):
        answer = upgrade(url, headers)
        answer.connection.close()
    expect(answer.status == wanted, rule, wanted=wanted, got=answer.status)
    return dict(answer.headers)


@case("CRI-EX-031", "kubelet, crictl: v5 before v4", needs=[IMAGE])
def test_a_newer_client_gets_the_newest_that_is_spoken(cri: CriTarget) -> None:
    """Clients offer v5 first, which is of WebSocket."""
    url = exec_url(cri, cri.pods.shared().run(), "/bin/true")
    rule = "of v5 and v4 one is chosen"
    with speaking(cri, rule):
        try:
            with SpdyCommandClient(url, versions=("v5.channel.k8s.io", V4)) as client:
                version = client.version
        except KeyError as error:
            version = str(error)
    expect(version in (V4, "v5.channel.k8s.io"), rule, wanted=V4, got=version)
