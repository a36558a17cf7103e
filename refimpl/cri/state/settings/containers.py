"""Containers: in what runtimes differ."""

from __future__ import annotations

from typing import Literal

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["ContainerChoices"]


@attrs.frozen(kw_only=True)
class ContainerChoices:
    """duplicate: CreateContainer with metadata of a container that is there. failed_start: what
    becomes of a container whose process cannot be started. status_stop_signal: whether the status
    tells the signal. status_ref: what image_ref in the status is. empty_name: metadata without a
    name. update_exited: UpdateContainerResources of a container that has exited."""

    duplicate: Literal["refused", "existing"] = diverges(
        "D5", "refused", crio="existing", source="as D4"
    )
    failed_start: Literal["exited", "removed"] = diverges(
        "D7",
        "exited",
        crio="removed",
        source="containerd 2.4.2, run: EXITED, 128, StartError; CRI-O server/container_start.go",
    )
    status_stop_signal: bool = diverges(
        "D24", True, crio=False, source="CRI-O server/container_status.go does not set it"
    )
    status_ref: Literal["id", "digest"] = diverges(
        "D21",
        "id",
        containerd="digest",
        crio="digest",
        source="containerd 2.4.2, run: a digest of the repository where there is one",
    )
    empty_name: Literal["refused", "accepted"] = diverges(
        "D90", "refused", containerd="accepted", source="containerd 2.4.2, run (CRI-CT-071)"
    )
    update_exited: Literal["refused", "stored"] = diverges(
        "D57", "refused", containerd="stored", source="containerd 2.4.2, run (CRI-RS-010)"
    )
