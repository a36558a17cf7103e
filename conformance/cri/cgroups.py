"""The cgroup of a container as it sees it itself, by either version (Linux admin-guide cgroup-v1,
cgroup-v2)."""

from __future__ import annotations

import sys
from collections.abc import Callable

from conformance.cri.node import said
from conformance.cri.pods import ContainerUnderTest, PodUnderTest
from refimpl.cri.api import cri_pb2 as pb

__all__ = [
    "UNLIMITED",
    "cpus",
    "hugepages",
    "limited",
    "memory",
    "quota",
    "swap",
    "value",
    "weights",
]

_TOP = "/sys/fs/cgroup"
UNLIMITED = sys.maxsize
"""No limit."""


def limited(
    pod: PodUnderTest,
    resources: pb.LinuxContainerResources,
    change: Callable[[pb.ContainerConfig], object] = lambda _config: None,
    *,
    start: bool = True,
) -> ContainerUnderTest:
    """A container with these resources; raises Refused."""
    request = pod.request()
    request.config.linux.resources.CopyFrom(resources)
    change(request.config)
    container = pod.ask(request)
    if start:
        container.start()
    return container


def value(container: ContainerUnderTest, *names: str) -> str:
    """The text of the first of these files that is there; raises Refused."""
    for name in names:
        if text := said(container, "cat", f"{_TOP}/{name}"):
            return text.strip()
    return ""


def memory(container: ContainerUnderTest) -> int | None:
    """The limit in bytes; None where the node has no such file, as of all that follow."""
    return _number(value(container, "memory.max", "memory/memory.limit_in_bytes"))


def swap(container: ContainerUnderTest) -> int | None:
    """Of memory and swap together, in bytes."""
    alone = _number(value(container, "memory.swap.max"))
    if alone is not None:
        return min(UNLIMITED, alone + (memory(container) or 0))
    return _number(value(container, "memory/memory.memsw.limit_in_bytes"))


def quota(container: ContainerUnderTest) -> tuple[int | None, int | None]:
    """Quota and period in microseconds."""
    if both := value(container, "cpu.max").split():
        return _number(both[0]), _number(both[1])
    names = ("cfs_quota_us", "cfs_period_us")
    first, second = (_number(value(container, f"cpu/cpu.{name}")) for name in names)
    return first, second


def weights(shares: int) -> set[int]:
    """What stands for shares: themselves, and the weights of version 2 that runtimes make of them
    (KEP-2254; runc since 1.3.2)."""
    linear = 1 + (shares - 2) * 9999 // 262142
    power = (shares.bit_length() - 1) if shares & (shares - 1) == 0 else 0
    curved = 10 ** ((power * power + 125 * power) / 612 - 7 / 34)
    return {shares, linear, int(curved), int(curved) + 1}


def cpus(container: ContainerUnderTest) -> str:
    """The CPUs that it may use."""
    return value(container, "cpuset.cpus", "cpuset/cpuset.cpus")


def hugepages(container: ContainerUnderTest, size: str) -> int | None:
    """The limit for pages of that size, in bytes."""
    return _number(
        value(container, f"hugetlb.{size}.max", f"hugetlb/hugetlb.{size}.limit_in_bytes")
    )


def _number(text: str) -> int | None:
    if text == "max":
        return UNLIMITED
    return int(text) if text.removeprefix("-").isdecimal() else None
