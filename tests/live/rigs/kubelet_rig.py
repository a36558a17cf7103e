"""A kubelet over a containerd rig: the real one of the suites, with another runtime below it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from conformance.kubelet.real import RealKubelet
from refimpl.cri.api.cri_pb2 import CONTAINER_RUNNING
from refimpl.cri.kubelet import info_of
from refimpl.deviceplugin import illusion
from refimpl.deviceplugin.lister import PodResourcesClient, devices_of
from refimpl.node.pods import ContainerSpec, PodSpec, PodStatus
from refimpl.wire.endpoint import Endpoint
from tests.live.peers import kubelet_command
from tests.live.rigs.containerd_rig import ContainerdRig
from tests.live.rigs.rig import Rig

__all__ = ["KubeletRig"]


class KubeletRig(Rig):
    """One kubelet over a containerd that runs, where its folder is /var/lib/kubelet, too.

    `programs` has it. Attributes: `folder`, in which are device-plugins, plugins_registry and
    pod-resources. Pods have their name for a uid; they end with the containerd rig.
    """

    def __init__(self, programs: Path, containerd: ContainerdRig) -> None:
        self._containerd = containerd
        self._kubelet = RealKubelet(
            kubelet_command(programs),
            cri=containerd.endpoint,
            settings={"cgroupRoot": containerd.cgroup_parent},
        )
        self.folder, self.log = self._kubelet.folder, self._kubelet.process.log
        self._resources = PodResourcesClient(
            Endpoint.parse(self.folder / "pod-resources" / "kubelet.sock")
        )
        try:
            containerd.namespaces.run("mount", "--bind", str(self.folder), illusion.REAL)
        except BaseException:
            self.close()
            raise

    def start(self) -> Self:
        """Starts kubelet and waits until plugins can register."""
        self._kubelet.start()
        return self

    def restart(self) -> Self:
        """Kills it and starts it again; pods, and the sockets of plugins, outlive that."""
        self._kubelet.end(kill=True)
        return self.start()

    def running(self) -> bool:
        """Whether it is alive."""
        return self._kubelet.running()

    def close(self) -> None:
        """Ends kubelet and removes its folder."""
        self._resources.close()
        self._kubelet.close()

    # Pods

    def run_pod(self, name: str, limits: Mapping[str, int]) -> None:
        """Runs a pod with one container `main` that has these limits."""
        self._kubelet.run(PodSpec(name, name, (ContainerSpec(limits=limits),)))

    def remove_pod(self, name: str) -> None:
        """Removes it and waits until kubelet has ended it."""
        self._kubelet.delete(name)

    def pod(self, name: str) -> PodStatus:
        """The pod as kubelet tells it; one that is unknown has no phase."""
        return self._kubelet.state(name) or PodStatus()

    def run_in(self, name: str, *words: str) -> str:
        """What a program in the pod's container prints."""
        reply = self._containerd.cri.exec_sync(self._container(name), words, 10)
        return (reply.stdout + reply.stderr).decode()

    def config_of(self, name: str) -> dict[str, Any]:
        """The CRI configuration that kubelet made of the pod's container."""
        status = self._containerd.cri.container_status(self._container(name), verbose=True)
        config: dict[str, Any] = info_of(status)["config"]
        return config

    def _container(self, name: str) -> str:
        labels = {"io.kubernetes.pod.uid": name, "io.kubernetes.container.name": "main"}
        (container,) = self._containerd.cri.list_containers(labels, state=CONTAINER_RUNNING)
        return container.id

    # Devices

    def allocatable(self, resource: str) -> list[str]:
        """The healthy devices of a resource, by pod-resources."""
        return sorted(devices_of(self._resources.allocatable().devices).get(resource, ()))

    def assigned(self, name: str, resource: str) -> list[str]:
        """The devices of a resource that the pod has, by pod-resources."""
        pods = [pod for pod in self._resources.pods() if pod.name == name]
        entries = [entry for pod in pods for each in pod.containers for entry in each.devices]
        return sorted(devices_of(entries).get(resource, ()))
