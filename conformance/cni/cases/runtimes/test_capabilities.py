"""What a runtime knows of a pod, and the form in which plugins that asked for it get it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.cni.needs import PODS
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.cni.runtimes.session import PORTS, pod_session
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.runtime.kubernetes import ANNOTATIONS

SPEC = "CNI 1.1 Deriving runtimeConfig"
CONVENTIONS = "CNI conventions"
SPELLED = {
    "portMappings": {"hostPort", "containerPort", "protocol", "hostIP"},
    "bandwidth": {"ingressRate", "ingressBurst", "egressRate", "egressBurst"},
    "dns": {"servers", "searches", "options"},
}
_MOST_BURST = 8 * 2**32
"""Bits: what fits the 32 bits of the kernel's token bucket, which counts bytes."""


@case("CNI-RT-044", SPEC, alone=True)
def test_runtime_config_is_what_was_asked_for_and_there_is(runtime: RuntimeUnderTest) -> None:
    """A plugin takes a member that is there for an order: an empty one to take away all."""
    adds = {call.plugin: call.document for call in pod_session(runtime).adds}
    sent = _config(adds["a"])
    if not sent:
        pytest.skip(f"{runtime.subject.name} sends no runtimeConfig")
    rule = "runtimeConfig has what the plugin declared and the runtime has a value for"
    with together() as check:
        with check:
            expect(not sent.keys() - SPELLED, rule, wanted=sorted(SPELLED), got=sorted(sent))
        for letter in "bc":
            with check:
                there = adds[letter].get("runtimeConfig")
                expect("runtimeConfig" not in adds[letter], rule, wanted="no member", got=there)
        wants = dict.fromkeys([*SPELLED, ANNOTATIONS], True)
        runtime.use(runtime.plugin("a", capabilities=wants))
        runtime.started()
        sent = runtime.calls("a ADD")[0].document
        empty = {name: value for name, value in _config(sent).items() if value in (None, [], {})}
        with check:
            expect(
                not empty, "what the runtime has no value for is left out", wanted="none", got=empty
            )
        there = "runtimeConfig" in sent and not _config(sent)
        with check:
            expect(not there, "an empty runtimeConfig is left out", wanted="no member", got=sent)


@case("CNI-RT-045", CONVENTIONS, needs=[PODS], alone=True)
def test_the_members_are_spelled_as_agreed(runtime: RuntimeUnderTest) -> None:
    """A plugin that is not written in Go finds nothing under another spelling, and maps no port."""
    sent = _sent(runtime)
    with together() as check:
        for name, known in SPELLED.items():
            payload = sent.get(name)
            entries = payload if isinstance(payload, list) else [payload] if payload else []
            for each in entries:
                strange = sorted(set(each) - known)
                with check:
                    expect(not strange, f"members of {name}", wanted=sorted(known), got=strange)


@case("CNI-RT-046", CONVENTIONS, needs=[PODS], alone=True)
def test_ports_are_mapped_as_the_pod_says(runtime: RuntimeUnderTest) -> None:
    """Port 0 of the host maps nothing; the protocol is written small; an address is kept."""
    ports = [_plain(each) for each in _sent(runtime).get("portMappings") or ()]
    if not ports:
        pytest.skip(f"{runtime.subject.name} sends no portMappings")
    wanted = {
        (port.host_port, port.container_port, port.protocol.lower(), port.host_ip)
        for port in PORTS
        if port.host_port
    }
    got = {
        (each["hostport"], each["containerport"], each["protocol"], each.get("hostip", ""))
        for each in ports
    }
    expect(got == wanted, "portMappings say what the pod says", wanted=wanted, got=got)


@case("CNI-RT-047", CONVENTIONS, needs=[PODS], alone=True)
def test_limits_are_told_in_bits(runtime: RuntimeUnderTest) -> None:
    """10M is ten million bits a second; and a burst that no kernel can count is none."""
    limits = _plain(_sent(runtime).get("bandwidth") or {})
    if not limits:
        pytest.skip(f"{runtime.subject.name} sends no bandwidth")
    wanted = {"ingressrate": 10_000_000, "egressrate": 2 * 2**20}
    got = {name: limits.get(name) for name in wanted}
    with together() as check:
        with check:
            expect(got == wanted, "rates are bits per second", wanted=wanted, got=got)
        for name in ("ingressburst", "egressburst"):
            sane = 0 < limits.get(name, 0) < _MOST_BURST
            with check:
                expect(sane, f"{name} fits the kernel", wanted=f"1 to {_MOST_BURST}", got=limits)


def _sent(runtime: RuntimeUnderTest) -> dict[str, Any]:
    return _config(pod_session(runtime).adds[0].document)


def _config(document: Mapping[str, Any]) -> dict[str, Any]:
    passed = document.get("runtimeConfig")
    return passed if isinstance(passed, dict) else {}


def _plain(payload: Mapping[str, Any]) -> dict[str, Any]:
    """With names in lower case: how they are spelled is another row's business."""
    return {name.lower(): value for name, value in payload.items()}
