"""ContainerStats and ListContainerStats."""

from __future__ import annotations

from typing import Any

from conformance.cri.needs import IMAGE
from conformance.cri.pods import ContainerUnderTest
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

_LIMIT = 64 << 20
_BUSY = ("/bin/sh", "-c", "while :; do :; done")
_SOON_S = 20.0
"""containerd looks at disks every ten seconds (D100)."""


def _stats(cri: CriTarget, container: ContainerUnderTest) -> pb.ContainerStats:
    request = pb.ContainerStatsRequest(container_id=container.id)
    return cri.runtime.ContainerStats(request).stats


def _listed(cri: CriTarget, **wanted: Any) -> list[str]:
    request = pb.ListContainerStatsRequest(filter=pb.ContainerStatsFilter(**wanted))
    return sorted(each.attributes.id for each in cri.runtime.ListContainerStats(request).stats)


@case("CRI-ST-001", "CRI v1 ContainerStats", needs=[IMAGE])
def test_statistics_say_whose_they_are_and_of_when(cri: CriTarget) -> None:
    """Kubelet leaves out what it cannot assign to a pod."""
    container = cri.pods.shared().run(labels={"a": "b"}, annotations={"c": "d"})
    eventually(
        lambda: _stats(cri, container).writable_layer.timestamp, _SOON_S, "the disk has a time"
    )
    stats = _stats(cri, container)
    got = stats.attributes
    wanted = pb.ContainerAttributes(
        id=container.id,
        metadata=container.config.metadata,
        labels=container.config.labels,
        annotations=container.config.annotations,
    )
    expect(got == wanted, "attributes are those of the container", wanted=wanted, got=got)
    for name in ("cpu", "memory"):
        at = getattr(stats, name).timestamp
        expect(at > 0, f"{name} has a time", wanted="> 0", got=at)


@case("CRI-ST-002", "CRI v1 ContainerStats")
def test_an_unknown_container_has_no_statistics(cri: CriTarget) -> None:
    """Zeros would be taken for a container that does nothing."""
    request = pb.ContainerStatsRequest(container_id=cri.pods.unknown_id())
    expect_refusal(
        lambda: cri.runtime.ContainerStats(request), "it is refused", preferred={Code.NOT_FOUND}
    )


@case("CRI-ST-003", "CRI v1 CpuUsage: cumulative", needs=[IMAGE])
def test_cpu_time_grows_and_never_falls(cri: CriTarget) -> None:
    """Rates are made of it."""
    container = cri.pods.shared().run(command=_BUSY)
    first = last = _stats(cri, container).cpu.usage_core_nano_seconds.value

    def grown() -> bool:
        nonlocal last
        now = _stats(cri, container).cpu.usage_core_nano_seconds.value
        expect(now >= last, "it never falls", wanted=f">= {last}", got=now)
        last = now
        return now > first

    eventually(grown, _SOON_S, "it grows while a container works")


@case("CRI-ST-004", "CRI v1 MemoryUsage.available_bytes: limit - working set", needs=[IMAGE])
def test_what_is_available_is_the_rest_of_the_limit(cri: CriTarget) -> None:
    """Eviction is decided by it."""
    pod = cri.pods.shared()
    request = pod.request()
    request.config.linux.resources.memory_limit_in_bytes = _LIMIT
    container = pod.ask(request)
    container.start()
    eventually(lambda: _stats(cri, container).memory.working_set_bytes.value, _SOON_S, "it is used")
    memory = _stats(cri, container).memory
    total = memory.available_bytes.value + memory.working_set_bytes.value
    expect(total == _LIMIT, "both are the limit together", wanted=_LIMIT, got=memory)


@case("CRI-ST-006", "containerd refuses, CRI-O tells what is left", needs=[IMAGE])
def test_one_that_has_exited_has_its_own_statistics_or_none(cri: CriTarget) -> None:
    """Not those of another one."""
    container = cri.pods.shared().run(command=("/bin/true",))
    container.ended()
    try:
        stats = _stats(cri, container)
    except Refused:
        return
    expect(stats.attributes.id == container.id, "they are its own", wanted=container.id, got=stats)


@case("CRI-ST-007", "CRI v1 ContainerStatsFilter: fields are joined by and", needs=[IMAGE])
def test_all_of_a_filter_of_statistics_has_to_hold(cri: CriTarget) -> None:
    """crictl stats takes id, pod and labels, and the beginning of an id."""
    pod, other = cri.pods.run(), cri.pods.run()
    first, second = pod.run(labels={"n": "1"}), pod.run(labels={"n": "2"})
    alien = other.run(labels={"n": "1"})
    whole = pb.ListContainerStatsRequest()
    ids = {each.attributes.id for each in cri.runtime.ListContainerStats(whole).stats}
    every = {first.id, second.id, alien.id}
    expect(every <= ids, "without a filter all are there", wanted=sorted(every), got=sorted(ids))
    for rule, wanted, selected in (
        ("an id selects one", {"id": first.id}, [first.id]),
        ("the beginning of an id does", {"id": first.id[:13]}, [first.id]),
        ("a pod selects its own", {"pod_sandbox_id": pod.id}, sorted([first.id, second.id])),
        (
            "pod and label select one",
            {"pod_sandbox_id": pod.id, "label_selector": {"n": "1"}},
            [first.id],
        ),
        ("an id in another pod selects none", {"id": first.id, "pod_sandbox_id": other.id}, []),
    ):
        got = _listed(cri, **wanted)
        expect(got == selected, rule, wanted=selected, got=got)


@case("CRI-ST-008", "CRI v1 ListContainerStats: of all that run", needs=[IMAGE])
def test_what_does_not_run_is_not_in_the_list(cri: CriTarget) -> None:
    """Neither what was created, nor what has exited, nor the pause container."""
    pod = cri.pods.run()
    running = pod.run()
    pod.create()
    pod.run(command=("/bin/true",)).ended()
    got = _listed(cri, pod_sandbox_id=pod.id)
    expect(got == [running.id], "only the one that runs is there", wanted=[running.id], got=got)
