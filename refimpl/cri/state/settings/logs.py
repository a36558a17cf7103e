"""Log files: in what runtimes differ."""

from __future__ import annotations

from typing import Literal

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["LogChoices"]


@attrs.frozen(kw_only=True)
class LogChoices:
    """carriage_return: what becomes of one before a line feed."""

    carriage_return: Literal["kept", "dropped"] = diverges(
        "D68",
        "kept",
        containerd="dropped",
        source="containerd 2.4.2, run: a line ends without it; CRI-O's conmon keeps it",
    )
