"""Resources that a container is created with, as its cgroup has them."""

from __future__ import annotations

from conformance.cri import cgroups
from conformance.cri.cgroups import limited
from conformance.cri.needs import CGROUP_V2, CGROUPS, IMAGE
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cri.api import cri_pb2 as pb

_MIB = 1 << 20
_MEMORY = 64 * _MIB
_SHARES = 512
_QUOTA, _PERIOD = 20_000, 50_000
_PAGES = "2MB"


@case("CRI-RS-001", "CRI v1 LinuxContainerResources", needs=[IMAGE, CGROUPS])
def test_cpu_and_memory_are_limited_as_asked(cri: CriTarget) -> None:
    """A pod that could have more than its limits would take it from others."""
    asked = pb.LinuxContainerResources(
        cpu_shares=_SHARES, cpu_quota=_QUOTA, cpu_period=_PERIOD, memory_limit_in_bytes=_MEMORY
    )
    container = limited(cri.pods.shared(), asked)
    with together() as check:
        with check:
            got = cgroups.memory(container)
            expect(got == _MEMORY, "the cgroup has the memory limit", wanted=_MEMORY, got=got)
        with check:
            time = cgroups.quota(container)
            wanted = (_QUOTA, _PERIOD)
            expect(time == wanted, "the cgroup has quota and period", wanted=wanted, got=time)
        with check:
            weight = int(cgroups.value(container, "cpu.weight", "cpu/cpu.shares"))
            share = cgroups.weights(_SHARES)
            expect(weight in share, "the cgroup has the shares", wanted=share, got=weight)


@case("CRI-RS-002", "CRI v1 LinuxContainerResources.unified", needs=[IMAGE, CGROUPS, CGROUP_V2])
def test_what_has_no_field_is_in_unified(cri: CriTarget) -> None:
    """Memory QoS of kubelet sets memory.high so."""
    high = str(32 * _MIB)
    asked = pb.LinuxContainerResources(memory_limit_in_bytes=_MEMORY, unified={"memory.high": high})
    got = cgroups.value(limited(cri.pods.shared(), asked), "memory.high")
    expect(got == high, "the cgroup has the file of unified as given", wanted=high, got=got)


@case("CRI-RS-003", "CRI v1 LinuxContainerResources.cpuset_cpus", needs=[IMAGE, CGROUPS])
def test_a_set_of_cpus_is_kept_to_and_one_that_is_none_is_refused(cri: CriTarget) -> None:
    """The CPU manager gives a pod CPUs of its own; it must not run on those of others."""
    pod = cri.pods.shared()
    got = cgroups.cpus(limited(pod, pb.LinuxContainerResources(cpuset_cpus="0")))
    expect(got == "0", "the cgroup has the CPUs", wanted="0", got=got)
    wrong = pb.LinuxContainerResources(cpuset_cpus="refimpl")
    expect_refusal(lambda: limited(pod, wrong), "cpuset_cpus that is no list of CPUs")


@case(
    "CRI-RS-004",
    "CRI v1 LinuxContainerResources.memory_swap_limit_in_bytes, hugepage_limits",
    needs=[IMAGE, CGROUPS],
)
def test_swap_and_huge_pages_are_limited_as_asked(cri: CriTarget) -> None:
    """The limit of swap is that of memory and swap together. What the node does not count cannot be
    limited, and a container runs all the same: kubelet sends a limit of 0 for each size of page."""
    both, pages = 2 * _MEMORY, 4 * _MIB
    asked = pb.LinuxContainerResources(
        memory_limit_in_bytes=_MEMORY,
        memory_swap_limit_in_bytes=both,
        hugepage_limits=[pb.HugepageLimit(page_size=_PAGES, limit=pages)],
    )
    container = limited(cri.pods.shared(), asked)
    with together() as check:
        for what, got, wanted in (
            ("swap limit", cgroups.swap(container), both),
            ("limit of huge pages", cgroups.hugepages(container, _PAGES), pages),
        ):
            with check:
                right = got is None or got == wanted
                expect(right, f"the cgroup has the {what}", wanted=wanted, got=got)
