"""Images: in what runtimes differ."""

from __future__ import annotations

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["ImageChoices"]


@attrs.frozen(kw_only=True)
class ImageChoices:
    """filters: whether ListImages heeds its filter. checks_handler: whether PullImage refuses an
    unknown runtime handler."""

    filters: bool = diverges("D40", True, containerd=False, source="containerd 2.4.2, run")
    checks_handler: bool = diverges("D86", True, containerd=False, source="containerd 2.4.2, run")
