"""Events: in what runtimes differ."""

from __future__ import annotations

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["EventChoices"]


@attrs.frozen(kw_only=True)
class EventChoices:
    """served: whether GetContainerEvents tells of anything; it ends at once where it does not."""

    served: bool = diverges(
        "D31", True, crio=False, source="CRI-O needs enable_pod_events, which is off by default"
    )
