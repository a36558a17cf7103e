"""The configuration of a real kubelet that runs beside its machine's own business."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from refimpl.node.choices import KubeletChoices

__all__ = ["Ports", "kubeconfig", "kubelet_configuration"]

_NEVER = ("memory.available", "nodefs.available", "imagefs.available", "nodefs.inodesFree")
_PORTS = range(20_000, 32_000)  # below those that the kernel gives to connections
_RESERVED_MI = 64


@attrs.frozen
class Ports:
    """On loopback: `api` speaks TLS, `read` is the read-only one.

    No other run draws one of them before they are released or this process ends.
    """

    api: int
    read: int
    health: int
    _claims: tuple[socket.socket, ...] = ()

    @classmethod
    def free(cls) -> Ports:
        """Three that nobody listens at now, and that no connection gets before kubelet listens."""
        claims: dict[int, socket.socket] = {}
        while len(claims) < 3:
            port = random.choice(_PORTS)
            claim = socket.socket(socket.AF_UNIX)
            try:
                # A name without a file, which goes with the process that has it (unix(7)).
                claim.bind(f"\0refimpl-kubelet-port-{port}")
                with socket.create_server(("127.0.0.1", port)):
                    claims[port] = claim
            except OSError:
                claim.close()
        api, read, health = claims
        return cls(api, read, health, tuple(claims.values()))

    def release(self) -> None:
        """Lets others have them."""
        for claim in self._claims:
            claim.close()


def kubeconfig(server: str) -> str:
    """A kubeconfig for a server that asks nobody who they are."""
    names = {"cluster": "refimpl", "user": "refimpl"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "refimpl", "cluster": {"server": server}}],
            "users": [{"name": "refimpl", "user": {}}],
            "contexts": [{"name": "refimpl", "context": names}],
            "current-context": "refimpl",
        }
    )


def kubelet_configuration(
    choices: KubeletChoices, ports: Ports, runtime: str, folder: Path, settings: Mapping[str, Any]
) -> str:
    """A KubeletConfiguration (v1beta1) in which `settings` come last. Nothing of the machine but
    `folder` is written to."""
    return json.dumps(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": runtime,
            "podLogsDir": str(folder / "podlogs"),
            "volumePluginDir": str(folder / "volumeplugins"),
            "address": "127.0.0.1",
            "healthzBindAddress": "127.0.0.1",
            "port": ports.api,
            "readOnlyPort": ports.read,
            "healthzPort": ports.health,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            **_talking(),
            **_careful(),
            **_chosen(choices),
            **settings,
        }
    )


def _talking() -> dict[str, Any]:
    """How it speaks to the API server: JSON, and soon."""
    return {
        "contentType": "application/json",
        "kubeAPIQPS": 500,
        "kubeAPIBurst": 1000,
        "registerNode": True,
        "nodeStatusUpdateFrequency": "1s",
        # Also how soon a pod whose start failed is tried again.
        "syncFrequency": "1s",
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
    }


def _careful() -> dict[str, Any]:
    """Nothing of the machine is changed, and no pod is evicted for its state."""
    return {
        "failSwapOn": False,
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "makeIPTablesUtilChains": False,
        "localStorageCapacityIsolation": False,
        "oomScoreAdj": 0,
        "imageGCHighThresholdPercent": 100,
        "maxPods": 500,
        "evictionHard": dict.fromkeys(_NEVER, "0%"),
    }


def _chosen(choices: KubeletChoices) -> dict[str, Any]:
    configuration: dict[str, Any] = {
        "featureGates": dict(choices.gates),
        "topologyManagerPolicy": choices.policy,
        "topologyManagerScope": choices.scope,
        "topologyManagerPolicyOptions": dict(choices.options),
        "cpuManagerPolicy": choices.cpu_policy,
        "memoryManagerPolicy": choices.memory_policy,
    }
    if choices.cpu_policy == "static":
        configuration["reservedSystemCPUs"] = "0"  # one must be
    if choices.memory_policy == "Static":
        configuration["systemReserved"] = {"memory": f"{_RESERVED_MI * len(choices.nodes)}Mi"}
        configuration["reservedMemory"] = [
            {"numaNode": node, "limits": {"memory": f"{_RESERVED_MI}Mi"}} for node in choices.nodes
        ]
    return configuration
