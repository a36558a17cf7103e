"""Sandboxes: in what runtimes differ."""

from __future__ import annotations

from typing import Literal

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["SandboxChoices"]


@attrs.frozen(kw_only=True)
class SandboxChoices:
    """duplicate: RunPodSandbox with metadata of a sandbox that is there. status_handler: whether
    PodSandboxStatus tells the runtime handler. always_info: `info` without verbose. pod_labels:
    whether labels of kubelet are added where they are missing. user_for_group: whether
    run_as_group needs a user. negative_port: whether a host_port below 0 counts as none.
    empty_names: metadata in which a name is empty."""

    duplicate: Literal["refused", "existing"] = diverges(
        "D4",
        "refused",
        crio="existing",
        source="containerd 2.4.2, run: FailedPrecondition; CRI-O server/sandbox_run_linux.go",
    )
    status_handler: bool = diverges(
        "D26", True, crio=False, source="CRI-O server/sandbox_status.go: only the list has it"
    )
    always_info: bool = diverges(
        "D27", False, containerd=True, source="containerd 2.4.2, run: info holds the resources"
    )
    pod_labels: bool = diverges("D28", False, crio=True, source="CRI-O server/sandbox_run_linux.go")
    user_for_group: bool = diverges(
        "D77", True, crio=False, source="CRI-O: no check of the sandbox was found in its source"
    )
    negative_port: bool = diverges(
        "D95", False, containerd=True, source="containerd 2.4.2, run: taken for none"
    )
    empty_names: Literal["refused", "accepted"] = diverges(
        "D90", "refused", containerd="accepted", source="containerd 2.4.2, run"
    )
