"""Plugins that take their time, say too much, or never end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from conformance.cni.runtimes.checks import undone
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, soon, together

ROBUST = "robustness: a plugin that hangs"


@case("CNI-RT-052", ROBUST, alone=True)
def test_a_plugin_that_hangs_costs_one_pod_until_the_deadline(runtime: RuntimeUnderTest) -> None:
    """kubelet gives up after some minutes; whatever still runs then, for a pod that is none, can
    only do harm.
    """
    rule, wanted = "a plugin that does not end is ended with the call, and DEL follows", "DEL"
    with together() as check:
        _hanging(runtime, partial(check.found, f"{rule}: a plugin that hangs", wanted))
        _holding(runtime, partial(check.found, f"{rule}: a child that keeps stdout", wanted))
        runtime.scope.callback(lambda: soon(lambda: not runtime.unended(), 8.0))


def _hanging(runtime: RuntimeUnderTest, found: Callable[[str], None]) -> None:
    runtime.tell("b", {"verb": "ADD", "do": "hang", "seconds": 3, "times": 1})
    runtime.use("a", "b")
    pod, place = runtime.pod(), runtime.seen()
    refusals: list[str] = []
    running = threading.Thread(
        target=lambda: refusals.append(runtime.attempt(pod, runtime.subject.patience_s))
    )
    running.start()
    soon(lambda: [call for call in runtime.since(place) if call.step == "b ADD"], 5.0)
    other = runtime.attempt()
    found(f"another pod fails meanwhile: {other}" if other else "")
    running.join()
    found("" if refusals[0] else "the pod runs")
    hung = [call for call in runtime.since(place) if call.step == "b ADD"][:1]
    if not soon(lambda: not any(runtime.running(call) for call in hung)):
        found("it still runs when the call has ended")
    found(undone(runtime, pod, place))
    runtime.recorders.reset()


def _holding(runtime: RuntimeUnderTest, found: Callable[[str], None]) -> None:
    """Not a failure of the plugin: it ended, and its result may count. But not later."""
    runtime.tell("b", {"verb": "ADD", "do": "hold-stdout", "seconds": 4, "times": 1})
    runtime.use("a", "b")
    pod, place = runtime.pod(), runtime.seen()
    refusal = runtime.attempt(pod, runtime.subject.patience_s)

    def deleted() -> bool:
        return any(call.step == "a DEL" for call in runtime.since(place))

    if refusal and not soon(deleted):
        found(f"when the call has ended there is neither a pod nor DEL ({refusal})")
    soon(lambda: not refusal or deleted(), 8.0)
    runtime.recorders.reset()


@case("CNI-RT-053", "robustness: streams", alone=True)
def test_a_plugin_that_says_much_or_reads_slowly_is_waited_for(runtime: RuntimeUnderTest) -> None:
    """A pipe that nobody empties stops the plugin, and a runtime that first writes and then reads
    stops with it.
    """
    runtime.tell("a", {"do": "flood", "stream": "stderr", "bytes": 100 << 20, "verb": "ADD"})
    slowly = {"do": "slow-stdin", "bytes": 4096, "seconds": 0.01, "verb": "ADD"}
    runtime.tell("b", slowly)
    runtime.use("a", runtime.plugin("b", refimpl="x" * 100_000))
    refusal = runtime.attempt()
    expect(
        not refusal,
        "100 MiB on stderr and a reader that takes 4 KiB at a time keep no pod from running",
        wanted="the pod runs",
        got=refusal,
    )
