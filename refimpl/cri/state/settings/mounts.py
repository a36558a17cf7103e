"""Mounts: in what runtimes differ."""

from __future__ import annotations

from typing import Literal

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["MountChoices"]


@attrs.frozen(kw_only=True)
class MountChoices:
    """missing_source: a mount of a path that the node has not got. volume_writable: a mount of an
    image that is not to be read-only. volume_and_path: one of an image that has a host_path as
    well. volume_reference: whether the status tells which image a volume is of. options: whether
    Mount.mount_options have effect."""

    missing_source: Literal["refused", "made"] = diverges(
        "D49",
        "refused",
        containerd="made",
        crio="made",
        source="containerd 2.4.2, run (CRI-MT-004); CRI-O server/container_create.go",
    )
    volume_writable: Literal["refused", "read-only"] = diverges(
        "D51", "refused", crio="read-only", source="CRI-O mounts it read-only anyway"
    )
    volume_and_path: Literal["refused", "accepted"] = diverges(
        "", "refused", crio="accepted", source="CRI-O ignores host_path beside image"
    )
    volume_reference: bool = diverges(
        "D75", True, containerd=False, crio=False, source="containerd 2.4.2, run (CRI-MT-024)"
    )
    options: bool = diverges(
        "D81", True, containerd=False, crio=False, source="containerd 2.4.2, run (CRI-MT-017)"
    )
