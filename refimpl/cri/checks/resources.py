"""What the resources of a container may be (CRI v1 LinuxContainerResources)."""

from __future__ import annotations

import re

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

__all__ = ["check"]

_CPUS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_PERIOD_US = range(1_000, 1_000_001)
"""Linux sched-bwc: of a period, in microseconds."""
_SCORE = range(-1000, 1001)
"""proc_pid_oom_score_adj(5)."""


def check(resources: pb.LinuxContainerResources) -> None:
    """INVALID_ARGUMENT for what no cgroup can have; 0 and "" are not set."""
    for name in ("cpuset_cpus", "cpuset_mems"):
        value = getattr(resources, name)
        if value and not _CPUS.fullmatch(value):
            raise _invalid(f"{name} is {value!r}: it is a list of numbers such as 0-2,4")
    if resources.cpu_period and resources.cpu_period not in _PERIOD_US:
        raise _invalid(f"cpu_period is {resources.cpu_period}: 1000 to 1000000 microseconds")
    for name in ("cpu_shares", "memory_limit_in_bytes"):
        if getattr(resources, name) < 0:
            raise _invalid(f"{name} is {getattr(resources, name)}: it is not below 0")
    if resources.oom_score_adj not in _SCORE:
        raise _invalid(f"oom_score_adj is {resources.oom_score_adj}: -1000 to 1000")
    swap, memory = resources.memory_swap_limit_in_bytes, resources.memory_limit_in_bytes
    if 0 < swap < memory:
        raise _invalid(
            f"memory_swap_limit_in_bytes is {swap}, below memory_limit_in_bytes, {memory}: it is"
            " the limit of both together"
        )


def _invalid(message: str) -> Refused:
    return Refused(Code.INVALID_ARGUMENT, message)
