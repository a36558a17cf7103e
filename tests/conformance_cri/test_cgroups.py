"""Cgroups as a container sees them, in the words of either version."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.cri import cgroups
from conformance.cri.pods import ContainerUnderTest

V1 = {
    "memory/memory.limit_in_bytes": "64",
    "memory/memory.memsw.limit_in_bytes": "128",
    "cpu/cpu.cfs_quota_us": "-1",
    "cpu/cpu.cfs_period_us": "100000",
    "cpuset/cpuset.cpus": "0-1",
}
V2 = {
    "memory.max": "64",
    "memory.swap.max": "64",
    "cpu.max": "max 100000",
    "cpuset.cpus": "0-1",
    "hugetlb.2MB.max": "max",
}


def container(files: dict[str, str]) -> ContainerUnderTest:
    """One that has these files and answers `cat`."""

    def exec_sync(_id: str, words: Any, _limit_s: float) -> Any:
        text = files.get(words[1].removeprefix("/sys/fs/cgroup/"), "")
        return SimpleNamespace(stdout=f"{text}\n".encode() if text else b"")

    runtime = SimpleNamespace(exec_sync=exec_sync)
    return cast("ContainerUnderTest", SimpleNamespace(runtime=runtime, id="one"))


@pytest.mark.parametrize(("files", "unlimited"), [(V1, -1), (V2, cgroups.UNLIMITED)])
def test_both_versions_are_read(files: dict[str, str], unlimited: int) -> None:
    """The limit of swap is always that of both together."""
    one = container(files)
    assert (cgroups.memory(one), cgroups.swap(one), cgroups.cpus(one)) == (64, 128, "0-1")
    assert cgroups.quota(one) == (unlimited, 100_000)


def test_what_the_node_does_not_count_is_none() -> None:
    """And what is counted without a limit is a number."""
    assert cgroups.hugepages(container(V1), "2MB") is None
    assert cgroups.hugepages(container(V2), "2MB") == cgroups.UNLIMITED


@pytest.mark.parametrize(("shares", "accepted"), [(1024, {1024, 39, 100}), (512, {512, 20, 59})])
def test_shares_have_several_weights(shares: int, accepted: set[int]) -> None:
    """By KEP-2254, and by the curve of newer runtimes, where 1024 shares are 100."""
    assert accepted <= cgroups.weights(shares)
