"""What runtimes say of themselves."""

from __future__ import annotations

import attrs

from refimpl.cri.state.settings.divergence import diverges

__all__ = ["RuntimeChoices"]


@attrs.frozen(kw_only=True)
class RuntimeChoices:
    """name: kubelet begins container ids with it. version: a semantic one. without: RPCs that are
    UNIMPLEMENTED. pod_cidr: whether UpdateRuntimeConfig looks at the range. bare_texts: whether
    verbose info has values that are no JSON."""

    name: str = diverges(
        "",
        "refimpl",
        containerd="containerd",
        crio="cri-o",
        source="their answers to Version",
    )
    version: str = diverges(
        "",
        "",
        containerd="v2.4.2",
        crio="1.37.0",
        legacy="v1.7.27",
        source="their answers to Version; empty is our own",
    )
    without: tuple[str, ...] = diverges(
        "",
        (),
        containerd=("CheckpointPod", "RestorePod"),
        crio=("CheckpointPod", "RestorePod"),
        legacy=(
            *("CheckpointPod", "RestorePod", "RuntimeConfig", "UpdatePodSandboxResources"),
            *("ListMetricDescriptors", "ListPodSandboxMetrics", "StreamPodSandboxMetrics"),
            *("StreamPodSandboxes", "StreamContainers", "StreamContainerStats"),
            *("StreamPodSandboxStats", "StreamImages"),
        ),
        source="CRI contract, facts 10 and 1.1: when RPCs appeared",
    )
    bare_texts: bool = diverges(
        "D62", False, containerd=True, source="containerd 2.4.2, run: lastCNILoadStatus"
    )
    pod_cidr: bool = diverges(
        "D59", True, crio=False, source="containerd parses it, CRI-O does nothing"
    )
