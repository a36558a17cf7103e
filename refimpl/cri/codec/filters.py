"""Filters of the lists, as the state has them."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state.models import Wanted

__all__ = ["wanted"]

Filter = (
    pb.PodSandboxFilter | pb.ContainerFilter | pb.ContainerStatsFilter | pb.PodSandboxStatsFilter
)

_OF_CONTAINERS = (pb.ContainerFilter, pb.ContainerStatsFilter)


def wanted(sent: Filter) -> Wanted:
    """A filter of any of the lists; each has some of the fields."""
    state: int | None = None
    if isinstance(sent, pb.PodSandboxFilter | pb.ContainerFilter) and sent.HasField("state"):
        state = sent.state.state
    sandbox = sent.pod_sandbox_id if isinstance(sent, _OF_CONTAINERS) else ""
    return Wanted(sent.id, state, sandbox, dict(sent.label_selector))
