"""What a runtime makes of plugins that fail, lie or speak nonsense."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from conformance.cni.runtimes.checks import undone
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import result_of
from conformance.engine.case import case
from conformance.engine.verdict import expect, together

SPEC = "CNI 1.1 ADD"
ERRORS = "CNI 1.1 Error"
_GOOD = {"cniVersion": "1.0.0", "ips": [{"address": "10.91.7.3/24"}]}
_INTERFACE = {"name": "eth0", "sandbox": "/run/netns/none"}


_FLOOD = {"verb": "ADD", "do": "flood", "bytes": 20 << 20}


def _text(**members: Any) -> str:
    return json.dumps({**_GOOD, "interfaces": [_INTERFACE], **members})


def _stdout(text: str) -> Callable[[RuntimeUnderTest], None]:
    return lambda runtime: runtime.tell("b", ADD={"stdout": text})


def _bytes(data: bytes) -> Callable[[RuntimeUnderTest], None]:
    return lambda runtime: runtime.recorders.print_bytes("b", data)


_NONSENSE: dict[str, Callable[[RuntimeUnderTest], None]] = {
    "nothing": _stdout(""),
    "null": _stdout("null"),
    "{}": _stdout("{}"),
    "two documents": _stdout(_text() * 2),
    "a line of a log in front": _stdout(f"starting\n{_text()}"),
    "20 MiB of dots": lambda runtime: runtime.tell("b", _FLOOD),
    "a text that is no UTF-8": _bytes(_text(dns={"domain": "a?"}).encode().replace(b"?", b"\xff")),
}
_MAY_BE_EMPTY = {"nothing", "null", "{}"}


@case("CNI-RT-015", SPEC, alone=True)
def test_nonsense_on_stdout_is_a_failure_and_nothing_worse(runtime: RuntimeUnderTest) -> None:
    """Plugins print what they should not; a node must outlive it, and get back what the pod had."""
    rule, wanted = "ADD whose stdout is no result fails, and DEL follows", "an error, then DEL"
    with together() as check:
        for name, tell in _NONSENSE.items():
            tell(runtime)
            runtime.use("a", "b")
            found = partial(check.found, f"{rule}: {name}", wanted)
            _judge(runtime, found, may_pass=name in _MAY_BE_EMPTY)


def _judge(
    runtime: RuntimeUnderTest, found: Callable[[str], None], *, may_pass: bool = False
) -> None:
    """One pod of a network whose `b` was told to misbehave."""
    pod, place = runtime.pod(), runtime.seen()
    refusal = runtime.attempt(pod)
    if not runtime.subject.alive():
        found(f"the runtime died of it ({refusal})")
        expect(runtime.subject.revive(), "a runtime comes back", wanted="an answer", got="none")
    elif not refusal and not may_pass:
        found("the pod runs")
    found(undone(runtime, pod, place))
    runtime.recorders.reset()


@case("CNI-RT-016", ERRORS, alone=True)
def test_an_error_object_with_exit_code_0_is_no_success(runtime: RuntimeUnderTest) -> None:
    """The plugin says that it failed; a pod that runs all the same has no network."""
    runtime.tell("a", ADD={"error": {"code": 11, "msg": "told to fail"}, "status": 0})
    runtime.tell("b", ADD={"result": result_of()})
    runtime.use("a", "b")
    refusal = runtime.attempt()
    expect(
        refusal,
        "an error object on stdout is an error, whatever the exit code",
        wanted="the pod is refused",
        got=f"the pod runs, after {', '.join(runtime.steps())}",
    )


@case("CNI-RT-017", SPEC, alone=True)
def test_no_exit_but_0_is_a_success(runtime: RuntimeUnderTest) -> None:
    """A result that was printed before the end went wrong is no promise."""
    rule, wanted = "ADD that ends with anything but exit code 0 fails, and DEL follows", "an error"
    with together() as check:
        endings: dict[str, Callable[[], None]] = {
            "exit 1 with a result": lambda: runtime.tell(
                "b", ADD={"result": result_of(), "status": 1}
            ),
            "exit 137": lambda: runtime.tell("b", ADD={"stdout": "", "status": 137}),
            "SIGSEGV": lambda: runtime.tell("b", {"verb": "ADD", "do": "signal", "number": 11}),
            "SIGKILL": lambda: runtime.tell("b", {"verb": "ADD", "do": "signal", "number": 9}),
        }
        for name, tell in endings.items():
            tell()
            runtime.use("a", "b")
            _judge(runtime, partial(check.found, f"{rule}: {name}", wanted))


@case("CNI-RT-018", ERRORS, alone=True)
def test_what_a_plugin_says_of_its_failure_reaches_who_asked(runtime: RuntimeUnderTest) -> None:
    """Whoever looks at a pod that does not start reads this, and nothing else."""
    error = {"code": 123, "msg": "no cable is plugged in", "details": "port 7 of the switch"}
    runtime.tell("a", ADD={"error": error})
    runtime.use("a")
    refusal = runtime.attempt()
    missing = [name for name, text in error.items() if not re.search(rf"\b{text}\b", refusal)]
    expect(
        not missing,
        "code, msg and details of a plugin's error are told",
        wanted="all three",
        got=f"no {' and no '.join(missing)} in {refusal!r}",
    )


@case("CNI-RT-019", "CNI 1.1 Add Success", alone=True)
def test_an_index_without_an_interface_is_an_error_that_costs_no_more_than_the_pod(
    runtime: RuntimeUnderTest,
) -> None:
    """One plugin with an off-by-one must not end the runtime of a node (seen in the field:
    containerd ends).
    """
    rule, wanted = "a result with an index beyond its interfaces is refused", "an error, then DEL"
    with together() as check:
        for index in (1, -1, 2**31, "0"):
            result = result_of()
            result["ips"][0]["interface"] = index
            runtime.tell("b", ADD={"result": result})
            runtime.use("a", "b")
            name = f"index {index!r} with 1 interface"
            _judge(runtime, partial(check.found, f"{rule}: {name}", wanted))


@case("CNI-RT-057", ERRORS, alone=True)
def test_the_codes_3_and_11_are_errors(runtime: RuntimeUnderTest) -> None:
    """For 3 no DEL is needed, after 11 a runtime may try again by itself; neither is a success."""
    rule, wanted = "ADD that fails with code 3 or 11 fails, or is tried again", "an error"
    with together() as check:
        for code in (3, 11):
            failing = {"error": {"code": code, "msg": "told to fail"}}
            runtime.tell("a", ADD=[failing, {"result": result_of()}])
            runtime.use("a")
            place = runtime.seen()
            refusal = runtime.attempt()
            tries = [call for call in runtime.since(place) if call.verb == "ADD"]
            if not refusal and len(tries) < 2:
                check.found(f"{rule}: code {code}", wanted, "the pod runs after one ADD")
