"""The calling side of CRI: what kubelet asks of a container runtime, in its order and with its
deadlines.

`remote` has the calls, `configs` what is sent with them, `pods` the order of a pod's life, `loops`
what kubelet does besides, `content` what it demands of a reply.
"""

from __future__ import annotations

from refimpl.cri.kubelet.configs import container_config, pod_labels, sandbox_config
from refimpl.cri.kubelet.content import lacking
from refimpl.cri.kubelet.loops import SeenPod, collect, probe, relist, start_up
from refimpl.cri.kubelet.pods import (
    StartedPod,
    end_pod,
    ensure_image,
    kill_pod,
    remove_pod,
    start_container,
    start_pod,
    wait_container,
)
from refimpl.cri.kubelet.remote import REQUEST_S, RemoteRuntime, connect, info_of

__all__ = [
    "REQUEST_S",
    "RemoteRuntime",
    "SeenPod",
    "StartedPod",
    "collect",
    "connect",
    "container_config",
    "end_pod",
    "ensure_image",
    "info_of",
    "kill_pod",
    "lacking",
    "pod_labels",
    "probe",
    "relist",
    "remove_pod",
    "sandbox_config",
    "start_container",
    "start_pod",
    "start_up",
    "wait_container",
]
