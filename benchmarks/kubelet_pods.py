"""How soon a real kubelet has 100 static pods Running: on the virtual runtime no later than on
containerd, in the same run.

Each runtime has a kubelet of its own. The time is that from the moment when the manifests lie in
the folder of a kubelet that runs to the one when it tells that all pods are Running and ready.
Needs root and the peers of `tests/live`.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from refimpl.cri.fake import FakeRuntime
from refimpl.deviceplugin import illusion
from refimpl.node.pods import ELSEWHERE, IMAGE
from tests.live.peers import built_containerd, built_kubernetes, kubernetes_wanted, unpacked_busybox
from tests.live.rigs.containerd_rig import ContainerdRig
from tests.live.rigs.namespaces import why_not
from tests.live.rigs.static_kubelet import StaticKubelet, manifest

PODS, LIMIT_S, ROUNDS = 100, 400.0, 1


def main() -> int:
    """Measures and tells; 1 where the claim does not hold."""
    reason = why_not() or ("" if kubernetes_wanted() else "kubelet is not built")
    if reason:
        print(f"not measured: {reason}")
        return 0
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(on_virtual())
        theirs.append(on_containerd())
    print(f"{PODS} static pods Running: {min(ours):.1f} s on the virtual runtime,")
    print(f"{min(theirs):.1f} s on containerd: {min(theirs) / min(ours):.1f} times the time")
    return 0 if min(ours) <= min(theirs) else 1


def on_virtual() -> float:
    """Seconds."""
    with (
        tempfile.TemporaryDirectory(prefix="cri-") as folder,
        FakeRuntime(Path(folder) / "cri.sock", images=[IMAGE], settings=ELSEWHERE) as fake,
    ):
        assert fake.endpoint
        with StaticKubelet(built_kubernetes(), fake.endpoint) as kubelet:
            return seconds(kubelet)


def on_containerd() -> float:
    """Seconds."""
    with tempfile.TemporaryDirectory(prefix="net-") as networks:
        rig = ContainerdRig(
            built_containerd(), unpacked_busybox(), bin_dirs=[], conf_dir=Path(networks)
        )
        with rig:
            settings = {"cgroupRoot": rig.cgroup_parent}
            kubelet = StaticKubelet(built_kubernetes(), rig.endpoint, settings)
            rig.namespaces.run("mount", "--bind", str(kubelet.folder), illusion.REAL)
            with kubelet:
                return seconds(kubelet)


def seconds(kubelet: StaticKubelet) -> float:
    """Until all pods are ready."""
    pods = [manifest(f"pod-{number}") for number in range(PODS)]
    began = time.perf_counter()
    kubelet.put(*pods)
    kubelet.until(lambda: kubelet.ready() == PODS, "all pods are ready", LIMIT_S)
    return time.perf_counter() - began
