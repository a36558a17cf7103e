"""When a runtime asks for a collection of what is left over, and what it says is not."""

from __future__ import annotations

import threading

import pytest

from conformance.cni.runtimes.calls import RecordedCall
from conformance.cni.runtimes.checks import names
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import result_of
from conformance.cni.runtimes.subject import GC, RESTART
from conformance.engine.case import case
from conformance.engine.verdict import expect, soon, together

SPEC = "CNI 1.1 GC"
KEYS = ("cni.dev/valid-attachments", "cni.dev/attachments")


@case("CNI-RT-039", SPEC, alone=True)
def test_a_collection_lists_all_that_is_valid_and_runs_alone(runtime: RuntimeUnderTest) -> None:
    """What is not listed loses its address; what is being added meanwhile is on no list yet."""
    _collects(runtime)
    runtime.use("a", "b", version="1.1.0")
    pods = [runtime.started(), runtime.started()]
    place = runtime.seen()
    runtime.collect(*pods)
    calls = _collected(runtime, place)
    if not calls:
        pytest.skip(f"{runtime.subject.name} did not call GC")
    ifname = runtime.calls("ADD")[0].env.get("CNI_IFNAME")
    wanted = sorted((pod.id, ifname) for pod in pods)
    with together() as check:
        for call in calls:
            listed = next((call.document[key] for key in KEYS if key in call.document), None)
            pairs = sorted((each["containerID"], each["ifname"]) for each in listed or ())
            with check:
                expect(
                    pairs == wanted, f"{call.step} lists what is valid", wanted=wanted, got=listed
                )
        with check:
            if GC not in runtime.subject.lacks:
                _runs_alone(runtime)


def _runs_alone(runtime: RuntimeUnderTest) -> None:
    """A GC that is asked for while an ADD is under way."""
    runtime.tell("b", {"verb": "ADD", "do": "hang", "seconds": 0.3})
    pod, place = runtime.pod(), runtime.seen()
    running = threading.Thread(target=lambda: runtime.attempt(pod))
    running.start()
    soon(lambda: [call for call in runtime.since(place) if call.step == "b ADD"], 5.0)
    runtime.collect(pod)
    running.join()
    calls = runtime.since(place)
    adds = [call for call in calls if call.verb == "ADD"]
    at_once = [
        f"{call.step} during {add.step}"
        for call in calls
        for add in adds
        if call.verb in ("GC", "DEL") and call.overlaps(add)
    ]
    expect(not at_once, "GC waits for the ADD under way", wanted="one by one", got=at_once)


@case("CNI-RT-040", SPEC, alone=True)
def test_a_collection_goes_on_where_a_plugin_fails(runtime: RuntimeUnderTest) -> None:
    """The leftovers of the others are none the less leftovers; and all that failed is told."""
    _collects(runtime)
    runtime.tell("a", GC={"error": {"code": 111, "msg": "the first is stuck"}})
    runtime.tell("b", GC={"error": {"code": 112, "msg": "so is the second"}})
    runtime.use("a", "b", version="1.1.0")
    place = runtime.seen()
    refusal = runtime.collect()
    calls = _collected(runtime, place)
    expect(
        [call.plugin for call in calls] == ["a", "b"],
        "GC is called of every plugin, whatever those before it said",
        wanted="a GC, b GC",
        got=names(calls),
    )
    if GC not in runtime.subject.lacks:
        missing = [text for text in ("first is stuck", "is the second") if text in refusal]
        expect(len(missing) == 2, "all errors are told", wanted="both", got=refusal)


@case("CNI-RT-041", SPEC, alone=True)
def test_a_network_with_disable_gc_is_not_collected(runtime: RuntimeUnderTest) -> None:
    """Two runtimes that share a network would take each other's pods for leftovers."""
    runtime.tell("a", ADD={"result": result_of("1.0.0")})  # for those who know no 1.1.0
    runtime.use("a", version="1.1.0", disableGC=True)
    runtime.started()
    if GC not in runtime.subject.lacks:
        runtime.collect()
    touched = [call.step for call in runtime.calls("GC", "DEL")]
    expect(not touched, "disableGC keeps GC away", wanted="no GC, no DEL", got=touched)


def _collects(runtime: RuntimeUnderTest) -> None:
    """Skips the case on a runtime that never collects. Found out once: it may take a restart."""
    if not runtime.once("collects", _found_out):
        why = runtime.subject.lacks.get(GC, "")
        pytest.skip(f"{runtime.subject.name} does not call GC; {why}")


def _found_out(runtime: RuntimeUnderTest) -> bool:
    if {GC, RESTART} <= runtime.subject.lacks.keys():
        return False
    runtime.use("a", version="1.1.0")
    runtime.collect()
    return bool(soon(lambda: runtime.calls("GC")))


def _collected(runtime: RuntimeUnderTest, place: int) -> list[RecordedCall]:
    def collections() -> list[RecordedCall]:
        return [call for call in runtime.since(place) if call.verb == "GC"]

    soon(lambda: len(collections()) > 1)
    return collections()
