"""The cgroup of a virtual container as it sees it: version 2, by resources of CRI (Linux
admin-guide/cgroup-v2; KEP-2254 for the weight)."""

from __future__ import annotations

from typing import Any

__all__ = ["texts"]

_TOP = "/sys/fs/cgroup"
_CONTROLLERS = "cpuset cpu memory hugetlb pids"
_PERIOD_US = 100_000
_SHARES, _WEIGHTS = (2, 262_144), (1, 10_000)


def texts(resources: Any) -> dict[str, str]:
    """Each file by its path; what is not limited is `max`."""
    memory, swap = resources.memory_limit_in_bytes, resources.memory_swap_limit_in_bytes
    quota = resources.cpu_quota if resources.cpu_quota > 0 else "max"
    values = {
        "cgroup.controllers": _CONTROLLERS,
        "cpu.max": f"{quota} {resources.cpu_period or _PERIOD_US}",
        "cpu.weight": _weight(resources.cpu_shares),
        "cpuset.cpus": resources.cpuset_cpus,
        "cpuset.mems": resources.cpuset_mems,
        "memory.max": memory or "max",
        "memory.swap.max": swap - memory if swap > 0 else "max",
        "hugetlb.2MB.max": "max",
        **{f"hugetlb.{each.page_size}.max": each.limit for each in resources.hugepage_limits},
        **resources.unified,
    }
    return {f"{_TOP}/{name}": f"{value}\n" for name, value in values.items()}


def _weight(shares: int) -> int:
    """Of cpu.shares, in the same place of its range."""
    if not shares:
        return 100
    (low, high), (first, last) = _SHARES, _WEIGHTS
    return first + (min(max(shares, low), high) - low) * (last - first) // (high - low)
