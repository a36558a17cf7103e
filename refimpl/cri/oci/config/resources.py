"""Limits of a container (CRI LinuxContainerResources -> runtime-spec linux.resources)."""

from __future__ import annotations

from typing import Any

__all__ = ["cgroup_path", "oom_score", "resources"]

_CPU = {"shares": "cpu_shares", "quota": "cpu_quota", "period": "cpu_period"}
_SETS = {"cpus": "cpuset_cpus", "mems": "cpuset_mems"}


def resources(limits: Any) -> dict[str, Any]:
    """What is zero or empty is not said, and stays as it is. limits: None for none at all."""
    if limits is None:
        return {}
    told = {name: getattr(limits, field) for name, field in {**_CPU, **_SETS}.items()}
    cpu = {name: value for name, value in told.items() if value}
    memory: dict[str, Any] = {}
    if limits.memory_limit_in_bytes:
        memory["limit"] = limits.memory_limit_in_bytes
        # Without a word on swap there is none, as Kubernetes has it.
        memory["swap"] = limits.memory_swap_limit_in_bytes or limits.memory_limit_in_bytes
    elif limits.memory_swap_limit_in_bytes:
        memory["swap"] = limits.memory_swap_limit_in_bytes
    made: dict[str, Any] = {name: each for name, each in (("cpu", cpu), ("memory", memory)) if each}
    if limits.hugepage_limits:
        made["hugepageLimits"] = [
            {"pageSize": each.page_size, "limit": each.limit} for each in limits.hugepage_limits
        ]
    if limits.unified:
        made["unified"] = dict(limits.unified)
    return made


def oom_score(limits: Any, *, raised: bool) -> int:
    """`process.oomScoreAdj`. raised: a negative one becomes 0, for a kernel that refuses it to a
    runtime without CAP_SYS_RESOURCE."""
    score = int(getattr(limits, "oom_score_adj", 0))
    return max(0, score) if raised else score


def cgroup_path(parent: str, id: str) -> str:
    """Where its processes are limited, from the root of a hierarchy."""
    return f"/{parent.strip('/')}/{id}"
