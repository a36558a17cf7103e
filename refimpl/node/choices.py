"""How a kubelet is configured, as far as it matters for devices and their placement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

__all__ = ["CPUS_PER_NODE", "KubeletChoices"]

CPUS_PER_NODE = 4
"""Cores of each NUMA node of a machine that is only played."""


@attrs.frozen
class KubeletChoices:
    """`policy`, `scope`, `options` of the topology manager; `gates`: feature gates switched on or
    off. `nodes`: NUMA node -> distances to all nodes, in their order. `root`: a name below
    kubelet's folder that is its --root-dir; the folder itself if empty."""

    policy: str = "none"
    scope: Literal["container", "pod"] = "container"
    options: Mapping[str, str] = attrs.field(factory=dict)
    gates: Mapping[str, bool] = attrs.field(factory=dict)
    nodes: Mapping[int, tuple[int, ...]] = attrs.field(factory=lambda: {0: (10,)})
    cpu_policy: Literal["none", "static"] = "none"
    memory_policy: Literal["None", "Static"] = "None"
    root: str = ""
