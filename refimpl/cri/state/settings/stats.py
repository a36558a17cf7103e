"""Statistics: in what runtimes differ."""

from __future__ import annotations

from typing import Literal

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["StatsChoices"]


@attrs.frozen(kw_only=True)
class StatsChoices:
    """stopped: ContainerStats of a container that does not run. listed: which containers
    ListContainerStats has."""

    stopped: Literal["zero", "refused"] = diverges(
        "D36", "zero", containerd="refused", source="containerd 2.4.2, run: no metrics"
    )
    listed: Literal["running", "all"] = diverges(
        "D37", "running", containerd="all", source="containerd 2.4.2, run"
    )
