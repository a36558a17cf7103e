"""When a runtime asks whether an attachment is still in order, and how."""

from __future__ import annotations

import pytest

from conformance.cni.runtimes.checks import names
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import PORTS
from conformance.engine.case import case
from conformance.engine.verdict import expect, soon, together

SPEC = "CNI 1.1 CHECK"


@case("CNI-RT-034", SPEC, alone=True)
def test_check_is_not_asked_where_it_must_not_be(runtime: RuntimeUnderTest) -> None:
    """A plugin of before 0.4.0 does not know the verb; disableCheck is there because a plugin of
    the list has it wrong.
    """
    rule, wanted = "CHECK is not called before 0.4.0 and not with disableCheck", "no CHECK"
    with together() as check:
        for name, document in (
            ("version 0.3.1", runtime.network("a", version="0.3.1")),
            ("disableCheck", runtime.network("a", disableCheck=True)),
        ):
            place = runtime.seen()
            expect(runtime.offer(document, 10), f"{name} is taken", wanted="taken", got="not")
            pod = runtime.started()
            runtime.check(pod)
            checks = [call.step for call in runtime.since(place) if call.verb == "CHECK"]
            check.found(f"{rule}: {name}", wanted, *checks[:1])
            runtime.ended(pod)


@case("CNI-RT-035", SPEC, alone=True)
def test_check_has_the_parameters_and_the_result_of_add(runtime: RuntimeUnderTest) -> None:
    """A plugin compares what is with what it is told; told something else, it finds fault with
    a sound pod.
    """
    runtime.use(runtime.plugin("a", capabilities={"portMappings": True}), "b")
    pod = runtime.started(runtime.pod(ports=PORTS))
    refusal = runtime.check(pod)
    soon(lambda: runtime.calls("CHECK"), 0.1)
    checks = runtime.calls("CHECK")
    if not checks:
        pytest.skip(f"{runtime.subject.name} did not call CHECK {refusal}".strip())
    adds = {call.plugin: call for call in runtime.calls("ADD")}
    expect(
        [call.plugin for call in checks[:2]] == ["a", "b"],
        "CHECK goes through the list in its order",
        wanted="a CHECK, b CHECK",
        got=names(checks),
    )
    final = adds["b"].answer
    with together() as check:
        for call in checks:
            add = adds[call.plugin]
            addresses = (call.previous or {}).get("ips")
            with check:
                expect(
                    addresses == final["ips"],
                    f"{call.step} has the final result",
                    wanted=final["ips"],
                    got=addresses,
                )
            for name in ("CNI_CONTAINERID", "CNI_IFNAME", "CNI_NETNS"):
                same = call.env.get(name) == add.env.get(name)
                with check:
                    expect(
                        same,
                        f"{call.step} has the {name} of ADD",
                        wanted=add.env.get(name),
                        got=call.env.get(name),
                    )
            has = [each.document.get("runtimeConfig") for each in (add, call)]
            with check:
                expect(
                    has[0] == has[1], f"{call.step} has runtimeConfig", wanted=has[0], got=has[1]
                )
