"""How a kubelet is configured: what stays over its restarts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from attrs import field, frozen

from refimpl.deviceplugin.profiles import policy_options
from refimpl.deviceplugin.state.endpoints import Clock
from refimpl.deviceplugin.state.merge import TopologyPolicy, policy_of
from refimpl.deviceplugin.state.order import Order
from refimpl.deviceplugin.state.scopes import ScopeName, Wishes
from refimpl.deviceplugin.state.settings import Settings
from refimpl.registration.attempt import Handler

__all__ = ["Nodes", "Setup", "policy_on"]

Nodes = int | Sequence[int] | Mapping[int, Sequence[int]]
"""NUMA nodes: how many, which, or node -> distances to node 0, 1, ..."""


@frozen
class Setup:
    """The choices of `FakeKubelet`, each under its name there."""

    settings: Settings
    clock: Clock
    policy: TopologyPolicy
    scope: ScopeName
    wishes: Wishes
    order: Order
    patience_s: float = math.inf
    handlers: Mapping[str, Handler] = field(factory=dict)
    seen_at: str = ""


def policy_on(
    nodes: Nodes, name: str, options: Mapping[str, str] | None, release: str
) -> TopologyPolicy:
    """The topology policy of a kubelet of that release on a machine with these NUMA nodes.

    Raises ValueError for what kubelet would refuse to start with.
    """
    ids = tuple(range(nodes)) if isinstance(nodes, int) else tuple(nodes)
    distances = nodes if isinstance(nodes, Mapping) else None
    known = policy_options(release)
    return policy_of(name, ids, distances=distances, options=options, known=known)
