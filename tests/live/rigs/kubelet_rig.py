"""A kubelet of its own beside a containerd rig: no API server, pods from a folder of manifests.

`folder` is /var/lib/kubelet of the rig's mount namespace, so that its device-plugins,
plugins_registry and pod-resources can be reached from outside as well.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import grpc

from refimpl.cri.api import cri_pb2 as cri
from refimpl.deviceplugin.api import podresources_v1_pb2 as pb
from refimpl.deviceplugin.api.podresources_v1_pb2_grpc import PodResourcesListerStub
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from tests.live.rigs.containerd_rig import SANDBOX_IMAGE, ContainerdRig
from tests.live.rigs.namespaces import Inside, until

__all__ = ["KubeletRig"]

_ROOT, _ADDRESS = "/var/lib/kubelet", "10.79.0.1"
_PORTS = {"port": 20250, "readOnlyPort": 20255, "healthzPort": 20248}
_GET = "import sys, urllib.request as r; sys.stdout.write(r.urlopen(sys.argv[1]).read().decode())"
# kubelet wants an address and a route; whether they lead anywhere does not matter.
_NETWORK = """
ip link add node0 type veth peer name node1
ip addr add "$3/24" dev node0
ip link set node0 up
ip link set node1 up
ip route add default dev node0
mkdir -p "$2"
mount --bind "$1" "$2"
"""


class KubeletRig:
    """One kubelet over a containerd that runs; a context manager.

    `config` adds to its configuration. Attributes: `folder`, `manifests` (static pods), `log`.
    The containerd rig removes the folder and ends all pods.
    """

    def __init__(
        self, program: Path, containerd: ContainerdRig, *, config: Mapping[str, Any] | None = None
    ) -> None:
        self.program, self.containerd = program, containerd
        self.folder = containerd.folder / "kubelet"
        self.manifests, self.log = (
            containerd.folder / "manifests",
            containerd.folder / "kubelet.log",
        )
        self._config = containerd.folder / "kubelet.json"
        self._process: Inside | None = None
        self._channel: Channel | None = None
        self._made = not os.path.isdir(_ROOT)
        for made in (self.folder, self.manifests):
            made.mkdir()
        self._config.write_text(json.dumps({**self._configuration(), **(config or {})}))
        self._inside("sh", "-ec", _NETWORK, "sh", str(self.folder), _ROOT, _ADDRESS)

    # The daemon

    def start(self) -> Self:
        """Starts kubelet and waits until it serves and takes in device plugins."""
        words = [str(self.program), "--config", str(self._config), "--hostname-override", "n1"]
        # Else each look at the node waits ten seconds for a name server.
        words += ["--node-ip", _ADDRESS]
        words += ["--root-dir", _ROOT, "--cert-dir", str(self.containerd.folder / "pki")]
        with self.log.open("ab") as log:
            self._process = self.containerd.namespaces.start(*words, log=log, env=dict(os.environ))
        self.until(self._healthy, "kubelet is healthy")
        return self

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends it; its sockets and those of plugins stay behind, and pods live on."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        if self._process is not None:
            self._process.end(number, limit_s=30.0)
            self._process = None

    def restart(self, number: signal.Signals = signal.SIGKILL) -> Self:
        """Ends it, as in a crash unless told otherwise, and starts it again."""
        self.stop(number)
        return self.start()

    def running(self) -> bool:
        """Whether it is alive."""
        return self._process is not None and self._process.running()

    def until(self, condition: Callable[[], bool], what: str, limit_s: float = 60.0) -> None:
        """Waits for the condition; TimeoutError or RuntimeError with kubelet's last words."""
        try:
            until(lambda: condition() or not self.running(), what, limit_s)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.last_words()}") from None
        if not self.running():
            raise RuntimeError(f"{what}: kubelet has ended\n{self.last_words()}")

    def last_words(self, lines: int = 20) -> str:
        """The end of its log, for a message."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends kubelet; pods end with the containerd rig."""
        try:
            self.stop(signal.SIGKILL)
        finally:
            subprocess.run(
                self.containerd.namespaces.command("umount", "--lazy", _ROOT), check=False
            )
            if self._made and os.path.isdir(_ROOT):  # where /var/lib is the machine's own
                os.rmdir(_ROOT)

    # Pods

    def run_pod(self, name: str, limits: Mapping[str, int]) -> None:
        """Adds a static pod with one container `main` that has these limits."""
        container = {
            "name": "main",
            "image": SANDBOX_IMAGE,
            "imagePullPolicy": "Never",
            "resources": {"limits": {key: str(value) for key, value in limits.items()}},
        }
        # The host's network: pods need none of their own here.
        spec = {
            "hostNetwork": True,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
        }
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
        # Whatever lies in the folder, under any name, is a pod: it is written elsewhere.
        written = self.containerd.folder / f"{name}.json"
        written.write_text(json.dumps(document))
        written.rename(self.manifests / written.name)

    def remove_pod(self, name: str) -> None:
        """Removes its manifest and waits until kubelet has forgotten it."""
        (self.manifests / f"{name}.json").unlink()
        self.until(lambda: self.pod(name) is None, f"pod {name} is gone")

    def pod(self, name: str) -> dict[str, Any] | None:
        """The pod as kubelet tells it, None if it does not."""
        items = json.loads(self._get(f"http://127.0.0.1:{_PORTS['readOnlyPort']}/pods"))["items"]
        found = (item for item in items or () if item["metadata"]["name"] == f"{name}-n1")
        return next(found, None)

    def phase(self, name: str) -> str:
        """Its phase, empty before it has one."""
        found = self.pod(name) or {}
        return str(found.get("status", {}).get("phase", ""))

    def run_in(self, name: str, *words: str) -> str:
        """What a program in the pod's container prints."""
        asked = cri.ExecSyncRequest(container_id=self._container(name), cmd=words, timeout=10)
        reply = self.containerd.runtime.ExecSync(asked)
        return str(reply.stdout.decode() + reply.stderr.decode())

    def config_of(self, name: str) -> dict[str, Any]:
        """The CRI configuration that kubelet made of the pod's container."""
        asked = cri.ContainerStatusRequest(container_id=self._container(name), verbose=True)
        info = self.containerd.runtime.ContainerStatus(asked).info["info"]
        config: dict[str, Any] = json.loads(info)["config"]
        return config

    def _container(self, name: str) -> str:
        labels = {"io.kubernetes.pod.name": f"{name}-n1", "io.kubernetes.container.name": "main"}
        wanted = cri.ContainerFilter(
            label_selector=labels, state={"state": cri.ContainerState.CONTAINER_RUNNING}
        )
        listed = self.containerd.runtime.ListContainers(cri.ListContainersRequest(filter=wanted))
        (container,) = listed.containers
        return str(container.id)

    # Devices

    def allocatable(self, resource: str) -> list[str]:
        """The healthy devices of a resource, by pod-resources."""
        reply = self._resources().GetAllocatableResources(pb.AllocatableResourcesRequest())
        return _ids(reply.devices, resource)

    def assigned(self, name: str, resource: str) -> list[str]:
        """The devices of a resource that the pod has, by pod-resources."""
        reply = self._resources().List(pb.ListPodResourcesRequest())
        pods = [pod for pod in reply.pod_resources if pod.name == f"{name}-n1"]
        return [id for pod in pods for c in pod.containers for id in _ids(c.devices, resource)]

    # Inside

    def _resources(self) -> PodResourcesListerStub:
        if self._channel is None:
            socket = Endpoint.parse(self.folder / "pod-resources" / "kubelet.sock")
            self._channel = Channel(socket)
        return PodResourcesListerStub(cast("grpc.Channel", self._channel))

    def _healthy(self) -> bool:
        try:
            told = self._get(f"http://127.0.0.1:{_PORTS['healthzPort']}/healthz")
        except subprocess.CalledProcessError:
            return False
        there = (self.folder / "device-plugins" / "kubelet.sock").exists()
        return there and told == "ok"

    def _get(self, url: str) -> str:
        return self._inside(sys.executable, "-c", _GET, url)

    def _inside(self, *words: str) -> str:
        return self.containerd.namespaces.run(*words)

    def _configuration(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": str(self.containerd.endpoint),
            "staticPodPath": str(self.manifests),
            "podLogsDir": str(self.containerd.folder / "podlogs"),
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "address": "127.0.0.1",
            **_PORTS,
            "registerNode": False,
            "failSwapOn": False,
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "cgroupRoot": self.containerd.cgroup_parent,
            "enforceNodeAllocatable": [],
            "makeIPTablesUtilChains": False,
            "localStorageCapacityIsolation": False,
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {
                f"{what}.{rest}": "0%"
                for what, rest in (
                    ("memory", "available"),
                    ("nodefs", "available"),
                    ("imagefs", "available"),
                    ("nodefs", "inodesFree"),
                )
            },
            "oomScoreAdj": 0,
            "fileCheckFrequency": "1s",
        }


def _ids(devices: Any, resource: str) -> list[str]:
    return sorted(id for d in devices if d.resource_name == resource for id in d.device_ids)
