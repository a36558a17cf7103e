"""UpdateContainerResources: kubelet resizes a pod while it runs (KEP-1287)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from conformance.cri import cgroups
from conformance.cri.cgroups import limited
from conformance.cri.needs import CGROUPS, IMAGE
from conformance.cri.pods import ContainerUnderTest
from conformance.cri.refusals import expect_refusal
from conformance.cri.target import CriTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, soon
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

_MIB = 1 << 20
_LOW, _HIGH = 64 * _MIB, 128 * _MIB
_BEFORE = pb.LinuxContainerResources(
    cpu_shares=512, cpu_quota=20_000, cpu_period=50_000, memory_limit_in_bytes=_LOW
)
_EATS = ("/bin/sh", "-c", "dd if=/dev/zero of=/dev/null bs=40M")
_EATEN = 40 * _MIB
_TOGETHER = 8


def _update(container: ContainerUnderTest, **resources: int | str) -> None:
    request = pb.UpdateContainerResourcesRequest(container_id=container.id)
    request.linux.CopyFrom(pb.LinuxContainerResources(**resources))  # type: ignore[arg-type]
    container.runtime.runtime.UpdateContainerResources(request)


def _told(container: ContainerUnderTest) -> pb.LinuxContainerResources:
    return container.status().resources.linux


def _seen(container: ContainerUnderTest) -> tuple[object, ...]:
    """All that an update may change, by the cgroup and by the status."""
    told = _told(container)
    return (
        cgroups.memory(container),
        cgroups.quota(container),
        cgroups.value(container, "cpu.weight", "cpu/cpu.shares"),
        (told.memory_limit_in_bytes, told.cpu_quota, told.cpu_period, told.cpu_shares),
    )


@case("CRI-RS-005", "CRI v1 UpdateContainerResources", needs=[IMAGE, CGROUPS])
def test_more_memory_is_there_when_the_call_returns(cri: CriTarget) -> None:
    """Kubelet tells the user then that the pod is resized; and the status says the same."""
    container = limited(cri.pods.shared(), _BEFORE)
    _update(container, memory_limit_in_bytes=_HIGH)
    limits = (cgroups.memory(container), _told(container).memory_limit_in_bytes)
    wanted = (_HIGH, _HIGH)
    expect(limits == wanted, "cgroup and status have the new limit", wanted=wanted, got=limits)


@case("CRI-RS-006", "CRI v1 LinuxContainerResources: 0 is not specified", needs=[IMAGE, CGROUPS])
def test_what_is_not_given_stays(cri: CriTarget) -> None:
    """Kubelet changes cpu and memory in calls of their own."""
    container = limited(cri.pods.shared(), _BEFORE)
    _update(container, cpu_quota=10_000)
    limits = (cgroups.memory(container), _told(container).memory_limit_in_bytes)
    expect(limits == (_LOW, _LOW), "the memory limit is as before", wanted=_LOW, got=limits)
    quota = cgroups.quota(container)[0]
    expect(quota == 10_000, "the quota is the new one", wanted=10_000, got=quota)


@case(
    "CRI-RS-007",
    "CRI v1 UpdateContainerResources: an error changes nothing",
    needs=[IMAGE, CGROUPS],
)
def test_an_update_that_cannot_be_changes_nothing(cri: CriTarget) -> None:
    """Not half of it either: kubelet takes the old limits for what counts."""
    container = limited(cri.pods.shared(), _BEFORE)
    before = _seen(container)
    expect_refusal(
        lambda: _update(container, memory_limit_in_bytes=_HIGH, cpuset_cpus="refimpl"),
        "an update with cpuset_cpus that is no list of CPUs",
    )
    after = _seen(container)
    expect(after == before, "cgroup and status are as before", wanted=before, got=after)


@case("CRI-RS-008", "containerd, CRI-O: a limit below what is used", needs=[IMAGE, CGROUPS])
def test_a_limit_below_what_is_used_has_a_defined_end(cri: CriTarget) -> None:
    """It is refused and nothing changes, or it holds: then the kernel makes room, or ends the
    container as one that had no memory left."""
    request = cri.pods.shared().request(command=_EATS)
    request.config.linux.resources.memory_limit_in_bytes = _LOW
    container = cri.pods.shared().ask(request)
    container.start()
    try:
        _update(
            container, memory_limit_in_bytes=_EATEN // 4, memory_swap_limit_in_bytes=_EATEN // 4
        )
    except Refused:
        told = _told(container).memory_limit_in_bytes
        expect(told == _LOW, "after a refusal the old limit is told", wanted=_LOW, got=told)
        return
    ended = soon(lambda: container.status().state == pb.CONTAINER_EXITED)
    if ended:
        status = container.status()
        end = (status.reason, status.exit_code)
        wanted = ("OOMKilled", 137)
        expect(end == wanted, "it ended for want of memory", wanted=wanted, got=end)
    else:
        limit = cgroups.memory(container)
        expect(limit == _EATEN // 4, "the new limit holds", wanted=_EATEN // 4, got=limit)


@case(
    "CRI-RS-009", "containerd, CRI-O: a container that is not started yet", needs=[IMAGE, CGROUPS]
)
def test_an_update_before_the_start_counts_from_the_start(cri: CriTarget) -> None:
    """Or it is refused. A kubelet that resizes a pod while its containers are made would else
    believe in limits that nothing has."""
    container = limited(cri.pods.shared(), _BEFORE, start=False)
    wanted = _HIGH
    try:
        _update(container, memory_limit_in_bytes=_HIGH)
    except Refused:
        wanted = _LOW
    container.start()
    limits = (cgroups.memory(container), _told(container).memory_limit_in_bytes)
    rule = "cgroup and status have the limit of the last update that was not refused"
    expect(limits == (wanted, wanted), rule, wanted=wanted, got=limits)


@case("CRI-RS-010", "containerd, CRI-O: a container that has exited", needs=[IMAGE])
def test_an_update_after_the_end_is_refused_or_told(cri: CriTarget) -> None:
    """It changes nothing that runs (D57: refused, or kept); the container stays as it ended."""
    request = cri.pods.shared().request(command=("/bin/true",))
    request.config.linux.resources.memory_limit_in_bytes = _LOW
    container = cri.pods.shared().ask(request)
    container.start()
    before = container.ended()
    wanted = _HIGH
    try:
        _update(container, memory_limit_in_bytes=_HIGH)
    except Refused:
        wanted = _LOW
    after = container.status()
    told = after.resources.linux.memory_limit_in_bytes
    expect(told == wanted, "the status tells what was not refused", wanted=wanted, got=told)
    ends = [(each.state, each.exit_code, each.finished_at) for each in (before, after)]
    expect(ends[0] == ends[1], "its end is as before", wanted=ends[0], got=ends[1])


@case("CRI-RS-011", "containerd, CRI-O: NotFound")
def test_an_update_of_an_unknown_container_is_refused(cri: CriTarget) -> None:
    """Kubelet would tell that the pod is resized."""
    unknown = ContainerUnderTest(cri.kubelet, cri.pods.unknown_id(), pb.ContainerConfig())
    expect_refusal(
        lambda: _update(unknown, memory_limit_in_bytes=_HIGH),
        "an unknown container",
        preferred={Code.NOT_FOUND},
    )


@case(
    "CRI-RS-012",
    "CRI v1 LinuxContainerResources.memory_swap_limit_in_bytes",
    needs=[IMAGE, CGROUPS],
)
def test_swap_is_changed_as_asked(cri: CriTarget) -> None:
    """Its limit is that of memory and swap together, and may be more than that of memory alone."""
    container = limited(cri.pods.shared(), _BEFORE)
    both = 2 * _HIGH
    _update(container, memory_limit_in_bytes=_HIGH, memory_swap_limit_in_bytes=both)
    told = _told(container).memory_swap_limit_in_bytes
    expect(told == both, "the status has the new limit", wanted=both, got=told)
    seen = cgroups.swap(container)
    right = seen is None or seen == both
    expect(right, "the cgroup has the new limit", wanted=both, got=seen)


@case("CRI-RS-013", "robustness: two resizes at once", needs=[IMAGE, CGROUPS])
def test_updates_at_once_leave_one_of_them(cri: CriTarget) -> None:
    """And what the status tells is what holds."""
    container = limited(cri.pods.shared(), _BEFORE)
    sizes = [_LOW + number * _MIB for number in range(1, _TOGETHER + 1)]

    def update(size: int) -> None:
        # A kernel refuses a limit above that of memory and swap, which another call has changed.
        _update(container, memory_limit_in_bytes=size, memory_swap_limit_in_bytes=2 * _HIGH)

    with ThreadPoolExecutor(_TOGETHER) as pool:
        list(pool.map(update, sizes))
    limits = (cgroups.memory(container), _told(container).memory_limit_in_bytes)
    right = limits[0] == limits[1] and limits[0] in sizes
    expect(right, "cgroup and status have the same one of them", wanted=sizes, got=limits)


@case("CRI-RS-014", "CRI v1 LinuxContainerResources: 0 is not specified", needs=[IMAGE, CGROUPS])
def test_an_update_of_nothing_changes_nothing(cri: CriTarget) -> None:
    """Neither without resources nor with empty ones."""
    container = limited(cri.pods.shared(), _BEFORE)
    before = _seen(container)
    bare = pb.UpdateContainerResourcesRequest(container_id=container.id)
    for what, update in (
        ("without resources", lambda: cri.runtime.UpdateContainerResources(bare)),
        ("with empty ones", lambda: _update(container)),
    ):
        expect_status(update, {Code.OK}, f"an update {what} succeeds")
        after = _seen(container)
        expect(after == before, f"an update {what} changes nothing", wanted=before, got=after)
