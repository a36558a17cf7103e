"""Images: in what runtimes differ."""

from __future__ import annotations

from typing import Literal

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["ImageChoices"]


@attrs.frozen(kw_only=True)
class ImageChoices:
    """filters: whether ListImages heeds its filter. checks_handler: whether PullImage refuses an
    unknown runtime handler. removes: all names of an image with any of them; or the name that is
    given, and the image with its last one. removes_used: whether an image can be removed that has
    containers. tells_unavailable: whether a pull from a registry that cannot be reached is refused
    with the word that kubelet looks for. tokens: which of them a pull uses beside a password."""

    filters: bool = diverges("D40", True, containerd=False, source="containerd 2.4.2, run")
    checks_handler: bool = diverges("D86", True, containerd=False, source="containerd 2.4.2, run")
    removes: Literal["image", "name"] = diverges(
        "D42", "image", crio="name", source="CRI-O, server/image_remove.go"
    )
    removes_used: bool = diverges("D43", True, crio=False, source="CRI-O, containers/storage")
    tells_unavailable: bool = diverges(
        "D44", True, containerd=False, source="containerd 2.4.2, run"
    )
    tokens: tuple[Literal["identity", "registry"], ...] = diverges(
        "CRI-IM-015",
        ("identity", "registry"),
        containerd=("identity",),
        crio=(),
        source="containerd 2.4.2, run; CRI-O, server/image_pull.go",
    )
