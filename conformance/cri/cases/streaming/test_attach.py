"""Attach."""

from __future__ import annotations

from conformance.cri.needs import IMAGE
from conformance.cri.streams import attach_url, ended, over_spdy, reading
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.streaming.outcome import Outcome
from refimpl.wire.status import Refused

_TALK = {"stdin": True, "stdout": True}
_LISTEN = {"stdout": True}


@case("CRI-EX-047", "CRI v1 Attach", needs=[IMAGE])
def test_who_is_attached_talks_to_the_first_process(cri: CriTarget) -> None:
    """`kubectl attach -i`, `kubectl run -i`."""
    rule = "a shell does what it is told through Attach"
    container = reading(cri, "/bin/sh")
    with over_spdy(cri, attach_url(cri, container, **_TALK), rule, _TALK) as client:
        client.send(b"echo hello\n")
        expect(client.until(b"hello\n"), rule, wanted="hello", got=client.output())


@case("CRI-EX-048", "CRI v1 AttachRequest.tty: it must match", needs=[IMAGE])
def test_a_terminal_that_is_none_fails_and_breaks_nothing(cri: CriTarget) -> None:
    """Refused, or told on the stream; the container runs on."""
    rule = "an Attach whose tty is not the container's ends in an error"
    container = reading(cri, "/bin/cat")
    flags = {**_TALK, "tty": True}
    try:
        url = attach_url(cri, container, **flags)
    except Refused:
        pass
    else:
        with over_spdy(cri, url, rule, flags) as client:
            client.send(b"x\n")
            outcome = client.wait(5.0)
        expect(outcome and outcome.error, rule, wanted="an error", got=outcome or "it goes on")
    state = container.status().state
    expect(state == pb.CONTAINER_RUNNING, "the container runs on", wanted=1, got=state)


@case("CRI-EX-049", "containerd, CRI-O: output goes to all", needs=[IMAGE])
def test_all_that_are_attached_get_the_output(cri: CriTarget) -> None:
    """Two people look at one program."""
    rule = "what a program writes comes to each client"
    container = reading(cri, "/bin/cat")
    with (
        over_spdy(cri, attach_url(cri, container, **_TALK), rule, _TALK) as first,
        over_spdy(cri, attach_url(cri, container, **_LISTEN), rule, _LISTEN) as second,
    ):

        def both() -> bool:
            first.send(b"line\n")
            return all(each.until(b"line\n", timeout_s=0.5) for each in (first, second))

        eventually(both, 10.0, rule)


@case("CRI-EX-050", "kubelet: kubectl run -i ends with its program", needs=[IMAGE])
def test_the_end_of_the_container_is_the_end_of_the_stream(cri: CriTarget) -> None:
    """With Success: the exit code is the container's, not that of Attach."""
    rule = "an Attach ends with its container, in Success"
    container = reading(cri, "/bin/sh")
    with over_spdy(cri, attach_url(cri, container, **_TALK), rule, _TALK) as client:
        client.send(b"echo ready\n")
        expect(client.until(b"ready\n"), rule, wanted="ready", got=client.output())
        client.send(b"exit 3\n")
        outcome = ended(client, rule)
    expect(outcome == Outcome(), rule, wanted="Success", got=outcome)
    container.ended()


@case("CRI-EX-051", "containerd, CRI-O: no replay", needs=[IMAGE])
def test_who_attaches_late_sees_what_comes_from_then_on(cri: CriTarget) -> None:
    """What came before is in the log."""
    rule = "an Attach starts with what is written after it"
    container = reading(cri, "/bin/cat")
    with over_spdy(cri, attach_url(cri, container, **_TALK), rule, _TALK) as first:
        first.send(b"early\n")
        expect(first.until(b"early\n"), rule, wanted="early", got=first.output())
        with over_spdy(cri, attach_url(cri, container, **_LISTEN), rule, _LISTEN) as second:

            def late() -> bool:
                first.send(b"late\n")
                return second.until(b"late\n", timeout_s=0.5)

            eventually(late, 10.0, "a second client gets what comes")
            output = second.output()
    expect(b"early" not in output, rule, wanted="late", got=output)
