"""Commands over SPDY/3.1, which kubelet and crictl speak."""

from __future__ import annotations

import hashlib

from conformance.cri.needs import IMAGE
from conformance.cri.streams import ended, exec_url, over_spdy
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.streaming.client import SpdyCommandClient
from refimpl.streaming.outcome import Outcome

_SH = ("/bin/sh", "-c")
_TALK = {"stdin": True, "stdout": True}
_TTY = {**_TALK, "tty": True}
_PIECES = 32


@case("CRI-EX-028", "cri-streaming, kubelet: v4", needs=[IMAGE])
def test_output_comes_whole_and_success_is_told(cri: CriTarget) -> None:
    """kubectl exec ends when the status is there."""
    rule = "a command over v4 tells its output, and Success"
    url = exec_url(cri, cri.pods.shared().run(), *_SH, "echo out; echo err >&2")
    with over_spdy(cri, url, rule) as client:
        outcome = ended(client, rule)
        got = (client.output(), client.output("stderr"), outcome)
        status = client.output("error")
    wanted = (b"out\n", b"err\n", Outcome())
    expect(got == wanted, rule, wanted=wanted, got=got)
    expect(b'"Success"' in status, "the status is JSON", wanted="Success", got=status)


@case("CRI-EX-029", "cri-streaming, kubelet: NonZeroExitCode", needs=[IMAGE])
def test_an_exit_code_is_told_as_a_cause(cri: CriTarget) -> None:
    """kubectl exec ends with it."""
    rule = "exit 7 is the cause ExitCode 7"
    url = exec_url(cri, cri.pods.shared().run(), *_SH, "exit 7")
    with over_spdy(cri, url, rule) as client:
        outcome = ended(client, rule)
        got = f"{outcome}, {client.output('error').decode(errors='replace')}"
    expect(outcome == Outcome(7), rule, wanted="NonZeroExitCode, ExitCode 7", got=got)


@case("CRI-EX-030", "cri-streaming: channel, v2, v3", needs=[IMAGE])
def test_older_versions_are_spoken_each_by_itself(cri: CriTarget) -> None:
    """They tell a failure in words."""
    container = cri.pods.shared().run()
    for version in ("channel.k8s.io", "v2.channel.k8s.io", "v3.channel.k8s.io"):
        rule = f"{version} is spoken"
        url = exec_url(cri, container, *_SH, "echo hi; exit 7")
        with over_spdy(cri, url, rule, versions=[version]) as client:
            came, outcome = client.until(b"hi\n"), ended(client, rule)
            expect(client.version == version, rule, wanted=version, got=client.version)
        expect(came, f"output comes over {version}", wanted="hi", got=client.output())
        if version != "channel.k8s.io":  # whose error stream may be gone by then
            expect(outcome.error, f"{version} tells a failure", wanted="words", got=outcome)


@case("CRI-EX-036", "SPDY/3.1 2.6.5: PING", needs=[IMAGE])
def test_a_ping_is_answered(cri: CriTarget) -> None:
    """By it a client learns that a connection is dead."""
    rule = "a ping is answered"
    url = exec_url(cri, cri.pods.shared().run(), "/bin/cat", **_TALK)
    with over_spdy(cri, url, rule, _TALK) as client:
        expect(client.ping(), rule, wanted="the same number", got="nothing within 10 s")


@case("CRI-EX-037", "kubelet: stdin ends, output goes on", needs=[IMAGE])
def test_the_end_of_the_input_is_an_end_of_file(cri: CriTarget) -> None:
    """`kubectl exec -i … < file` waits for ever otherwise."""
    rule = "a half-closed stdin ends cat with 0"
    url = exec_url(cri, cri.pods.shared().run(), "/bin/cat", **_TALK)
    with over_spdy(cri, url, rule, _TALK) as client:
        client.send(b"all of it")
        client.end_input()
        got = (ended(client, rule), client.output())
    wanted = (Outcome(), b"all of it")
    expect(got == wanted, rule, wanted=wanted, got=got)


@case("CRI-EX-038", "kubectl cp", needs=[IMAGE])
def test_much_goes_through_in_both_directions(cri: CriTarget) -> None:
    """32 MiB through cat, at the same time."""
    rule = "32 MiB come back as they were"
    piece = hashlib.sha256(b"refimpl").digest() * (1 << 15)
    url = exec_url(cri, cri.pods.shared().run(), "/bin/cat", **_TALK)
    with over_spdy(cri, url, rule, _TALK) as client:
        for _ in range(_PIECES):
            client.send(piece)
        client.end_input()
        outcome, output = ended(client, rule), client.output()
    got = f"{outcome}, {len(output)} bytes, sha256 {hashlib.sha256(output).hexdigest()}"
    expect(output == piece * _PIECES, rule, wanted=f"{len(piece) * _PIECES} bytes", got=got)


@case("CRI-EX-039", "kubectl exec -it: the window's size", needs=[IMAGE])
def test_the_size_of_the_terminal_follows_the_client(cri: CriTarget) -> None:
    """Editors and pagers draw by it."""
    rule = "stty tells the size that the client told"
    url = exec_url(cri, cri.pods.shared().run(), "/bin/sh", **_TTY)
    with over_spdy(cri, url, rule, _TTY) as client:

        def told() -> bool:
            client.resize(120, 40)
            client.send(b"stty size\n")
            return client.until(b"40 120", timeout_s=0.5)

        eventually(told, 10.0, rule)
        client.send(b"exit\n")


@case("CRI-EX-040", "CRI v1 ExecRequest.tty", needs=[IMAGE])
def test_a_terminal_is_one_output_with_its_ends_of_lines(cri: CriTarget) -> None:
    """What a person at a terminal sees."""
    rule = "stdout and stderr come on one stream, lines end in CR LF"
    flags = {"stdout": True, "tty": True}
    url = exec_url(cri, cri.pods.shared().run(), *_SH, "echo out; echo err >&2", **flags)
    with over_spdy(cri, url, rule, flags) as client:
        ended(client, rule)
        output = client.output()
    expect(output == b"out\r\nerr\r\n", rule, wanted=b"out\r\nerr\r\n", got=output)


@case("CRI-EX-041", "kubelet: a client that leaves", needs=[IMAGE])
def test_a_client_that_vanishes_leaves_the_container_as_it_is(cri: CriTarget) -> None:
    """A laptop is closed in the middle of a session."""
    container = cri.pods.shared().run()
    rule = "a client may vanish"
    url = exec_url(cri, container, *_SH, "cat; exit 0; echo 7532", **_TALK)
    with over_spdy(cri, url, rule, _TALK) as client:
        _expect_talk(client)
        eventually(lambda: container.runs("7532"), 10.0, "the command runs")
    eventually(lambda: not container.runs("7532"), 10.0, "a command ends when its input does")
    state = container.status().state
    expect(state == pb.CONTAINER_RUNNING, "the container runs on", wanted=1, got=state)


def _expect_talk(client: SpdyCommandClient) -> None:
    client.send(b"x\n")
    expect(client.until(b"x\n"), "the command answers", wanted="x", got=client.output())
