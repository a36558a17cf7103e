"""When a runtime asks whether a network is ready, and what it makes of the answer."""

from __future__ import annotations

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance.cni.needs import PODS
from conformance.cni.runtimes.calls import RecordedCall
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.subject import Readiness, RuntimeRefusal
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect, soon, timeout, together
from refimpl.documents import json as documents

SPEC = "CNI 1.1 STATUS"


@case("CNI-RT-036", SPEC, alone=True)
def test_status_is_not_asked_of_older_networks(runtime: RuntimeUnderTest) -> None:
    """A plugin that does not know the verb fails it, and the node would never be ready."""
    runtime.use("a", version="1.0.0")
    runtime.subject.readiness()
    steps = [call.step for call in runtime.calls("STATUS")]
    expect(not steps, "STATUS is not called before 1.1.0", wanted="no STATUS", got=steps)


@case("CNI-RT-037", SPEC, alone=True)
def test_a_network_that_is_not_ready_is_told_until_it_is(runtime: RuntimeUnderTest) -> None:
    """No pod is sent to a node without a network, where the node says so; and the administrator
    reads why.
    """
    runtime.tell("a", STATUS={"error": {"code": 50, "msg": "no cable is plugged in"}})
    runtime.use("a", version="1.1.0")
    rule = "a network whose STATUS fails is not ready, and the plugin's words are told"

    def unready() -> Readiness | None:
        readiness = runtime.subject.readiness()
        return None if readiness.ready else readiness

    seen = eventually(unready, 1.0, rule)
    message = seen.message if seen else ""
    expect("no cable is plugged in" in message, rule, wanted="the plugin's words", got=message)
    runtime.tell("a")
    eventually(lambda: runtime.subject.readiness().ready, 10.0, "it is ready once STATUS succeeds")


@case("CNI-RT-038", "robustness: a plugin that hangs", needs=[PODS], alone=True)
def test_a_status_that_hangs_ends_with_the_patience_of_who_asked(runtime: RuntimeUnderTest) -> None:
    """kubelet asks every few seconds; plugins and questions that hang add up (seen in the field:
    containerd#4666). An answer in time is fine as well.
    """
    runtime.tell("a", {"verb": "STATUS", "do": "hang", "seconds": 3})
    runtime.use("a", version="1.1.0")
    answer = "no answer"
    with contextlib.suppress(RuntimeRefusal):  # the deadline of the question is over
        answer = str(runtime.subject.readiness(runtime.subject.patience_s))
    if not runtime.calls("STATUS"):
        pytest.skip(f"{runtime.subject.name} did not call STATUS")
    gone = soon(lambda: not any(runtime.running(call) for call in runtime.calls("STATUS")), 0.5)
    runtime.scope.callback(lambda: soon(lambda: not runtime.unended(), 8.0))
    expect(
        gone,
        "a STATUS that hangs ends with the question it was asked for",
        wanted="a plugin that was ended",
        got=f"{answer} within {runtime.subject.patience_s} s, and the plugin goes on",
    )


@case("CNI-RT-061", "robustness: a plugin that hangs", needs=[PODS], alone=True)
def test_status_is_answered_while_an_add_hangs(runtime: RuntimeUnderTest) -> None:
    """One pod whose plugin hangs must not make kubelet take the whole node for dead, not even when
    somebody changes the folder of networks meanwhile.
    """
    patience_s = timeout(runtime.subject.patience_s)
    runtime.tell("a", {"verb": "ADD", "do": "hang", "seconds": 10 * patience_s})
    document = runtime.use("a", version="1.1.0")
    pod = runtime.pod()
    with ThreadPoolExecutor(1) as pool, together() as check:
        attempt = pool.submit(runtime.attempt, pod, 4 * runtime.subject.patience_s)
        eventually(lambda: runtime.calls("ADD"), 5.0, "a pod that starts is attached")
        for what, change in (
            ("hangs", lambda: None),
            (
                "hangs and its network has changed",
                lambda: runtime.files.write(documents.dump({**document, "disableCheck": True})),
            ),
        ):
            change()
            with check:
                _expect_status(runtime, patience_s, what)
        for call in runtime.unended():
            _end(runtime, call)
        attempt.result()
    runtime.scope.callback(lambda: soon(lambda: not runtime.unended(), 8.0))


def _end(runtime: RuntimeUnderTest, call: RecordedCall) -> None:
    """Ends a recorder that hangs, where its number means the same process here."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{call.pid}/cmdline").read_bytes()
        if runtime.recorders.type_of(call.plugin).encode() in words:
            os.kill(call.pid, signal.SIGKILL)


def _expect_status(runtime: RuntimeUnderTest, patience_s: float, what: str) -> None:
    refusal = ""
    try:
        runtime.subject.readiness(patience_s)
    except RuntimeRefusal as error:
        refusal = str(error)
    if not any(runtime.running(call) for call in runtime.calls("ADD")):
        pytest.skip(f"{runtime.subject.name} has ended the ADD")
    rule = f"Status is answered while an ADD {what}"
    expect(not refusal, rule, wanted=f"an answer within {patience_s:g} s", got=refusal)
