"""Commands over WebSocket."""

from __future__ import annotations

from conformance.cri.needs import IMAGE
from conformance.cri.streams import V4, exec_url, over_websocket, speaking
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect
from refimpl.streaming.client import Unexpected
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.websocket_client import WebSocketCommandClient

_SH = ("/bin/sh", "-c")
_TALK = {"stdin": True, "stdout": True}


def _expect_command(cri: CriTarget, name: str) -> None:
    rule = f"a command over {name} tells its output, and how it ended"
    container = cri.pods.shared().run()
    with over_websocket(
        cri, exec_url(cri, container, *_SH, "echo hi; exit 7"), rule, name
    ) as client:
        outcome = client.wait()
        got = (client.chosen, client.output(), outcome)
    if name.startswith("v4"):
        expect(got == (name, b"hi\n", Outcome(7)), rule, wanted=(name, b"hi\n", 7), got=got)
    else:
        expect(client.output() == b"hi\n" and outcome.error, rule, wanted="hi, words", got=got)


@case("CRI-EX-042", "cri-streaming: v4.channel.k8s.io", needs=[IMAGE])
def test_a_command_runs_over_a_websocket(cri: CriTarget) -> None:
    """Browsers have nothing else."""
    _expect_command(cri, V4)


@case("CRI-EX-043", "cri-streaming: base64.channel.k8s.io", needs=[IMAGE])
def test_a_command_runs_over_text_messages(cri: CriTarget) -> None:
    """For clients without bytes."""
    _expect_command(cri, "v4.base64.channel.k8s.io")
    _expect_command(cri, "base64.channel.k8s.io")


@case("CRI-EX-044", "kubernetes: v5.channel.k8s.io", needs=[IMAGE])
def test_v5_can_end_the_input(cri: CriTarget) -> None:
    """`kubectl exec -i < file` over WebSocket needs it."""
    rule = "over v5 a closed stdin ends cat with 0"
    url = exec_url(cri, cri.pods.shared().run(), "/bin/cat", **_TALK)
    with over_websocket(cri, url, rule, "v5.channel.k8s.io") as client:
        client.send(b"all of it")
        client.end_input()
        got = (client.wait(), client.output())
    expect(got == (Outcome(), b"all of it"), rule, wanted="all of it, Success", got=got)


@case("CRI-EX-045", "cri-streaming: 403", needs=[IMAGE])
def test_an_unknown_subprotocol_is_refused(cri: CriTarget) -> None:
    """A client tries another one then."""
    rule = "an unknown subprotocol is 403"
    url = exec_url(cri, cri.pods.shared().run(), "/bin/true")
    with speaking(cri, rule):
        try:
            with WebSocketCommandClient(url, "v9.channel.k8s.io") as client:
                raise Broken(rule, "403", f"it speaks {client.chosen}")
        except Unexpected as refusal:
            status = refusal.status
    expect(status == 403, rule, wanted=403, got=status)


@case("CRI-EX-046", "cri-streaming: other channels are discarded", needs=[IMAGE])
def test_what_comes_on_other_channels_is_ignored(cri: CriTarget) -> None:
    """A newer client sends on channels that are not there yet."""
    rule = "messages on unknown channels, and on those not enabled, are ignored"
    url = exec_url(cri, cri.pods.shared().run(), "/bin/cat", **_TALK)
    with over_websocket(cri, url, rule) as client:
        for channel in (9, 2, 4, 1):
            client.send(b"noise", channel)
        client.send(b"signal\n")
        expect(client.until(b"signal\n"), rule, wanted="signal", got=client.output())
        expect(b"noise" not in client.output(), rule, wanted="no noise", got=client.output())
