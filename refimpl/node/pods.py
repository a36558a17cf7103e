"""Pods as they are given to a kubelet, and as their status shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from refimpl.deviceplugin.state.models import Container, Pod

__all__ = [
    "Amounts",
    "Claim",
    "ContainerSpec",
    "ContainerStatus",
    "PodSpec",
    "PodStatus",
    "device_pod",
]

IMAGE = "refimpl.example/pause:1"
"""The image of every container; a fake runtime has all images."""
ELSEWHERE: Mapping[str, object] = {"mounts.missing_source": "made"}
"""Settings of a fake runtime whose kubelet is in a mount namespace of its own, where the fake does
not see what kubelet has its containers mount."""


@attrs.frozen
class Amounts:
    """Whole CPUs and MiB of memory, as requests and limits alike; 0 of what is not asked for."""

    cpus: int = 0
    memory_mi: int = 0

    def manifest(self) -> dict[str, str]:
        """Resource -> quantity."""
        amounts = {"cpu": str(self.cpus), "memory": f"{self.memory_mi}Mi"}
        return {name: amount for name, amount in amounts.items() if amount not in ("0", "0Mi")}


@attrs.frozen
class Claim:
    """A claim of resource.k8s.io that was allocated one device, for a container that uses it; what
    the driver answers to kubelet are the `cdi` devices. `share`: the share that the claim has of a
    device that several claims may have at once."""

    name: str
    driver: str
    pool: str
    device: str
    cdi: tuple[str, ...] = ()
    share: str = ""


@attrs.frozen
class ContainerSpec:
    """A container that runs until it is told to end. `limits`: extended resource -> count.
    `restartable`: an init container that keeps running. `claimed`: resources that a DRA claim
    backs. `claims`: those it uses by name."""

    name: str = "main"
    limits: Mapping[str, int] = attrs.field(factory=dict)
    env: Mapping[str, str] = attrs.field(factory=dict)
    restartable: bool = False
    claimed: frozenset[str] = frozenset()
    amounts: Amounts = Amounts()
    claims: tuple[Claim, ...] = ()

    def manifest(self) -> dict[str, Any]:
        """As in a pod's `spec.containers`."""
        manifest: dict[str, Any] = {
            "name": self.name,
            "image": IMAGE,
            "imagePullPolicy": "Never",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "env": [{"name": key, "value": value} for key, value in self.env.items()],
        }
        counted = {name: str(count) for name, count in self.limits.items()}
        counted |= self.amounts.manifest()
        if counted:
            manifest["resources"] = {"limits": counted, "requests": counted}
        if self.claims:
            claims = [{"name": claim.name} for claim in self.claims]
            manifest["resources"] = {**manifest.get("resources", {}), "claims": claims}
        return manifest | ({"restartPolicy": "Always"} if self.restartable else {})


@attrs.frozen
class PodSpec:
    """A pod bound to the node. `pod_level`: it sets resources of the pod as such, `amounts`."""

    name: str
    uid: str
    app: tuple[ContainerSpec, ...] = (ContainerSpec(),)
    init: tuple[ContainerSpec, ...] = ()
    restart: Literal["Always", "OnFailure", "Never"] = "Always"
    pod_level: bool = False
    amounts: Amounts = Amounts(cpus=1)
    namespace: str = "default"

    def manifest(self, node: str) -> dict[str, Any]:
        """The v1.Pod that the API server sends to the kubelet of that node, with the defaults that
        kubelet relies on: without a security context it takes the pod to be off the host's network,
        and makes one sandbox after the other."""
        spec: dict[str, Any] = {
            "nodeName": node,
            "hostNetwork": True,
            "restartPolicy": self.restart,
            "terminationGracePeriodSeconds": 1,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "enableServiceLinks": False,
            "automountServiceAccountToken": False,
            "tolerations": [{"operator": "Exists"}],
            "initContainers": [each.manifest() for each in self.init],
            "containers": [each.manifest() for each in self.app],
        }
        if self.pod_level:
            amounts = self.amounts.manifest()
            spec["resources"] = {"limits": amounts, "requests": amounts}
        claims = {claim.name for each in (*self.init, *self.app) for claim in each.claims}
        if claims:
            spec["resourceClaims"] = [
                {"name": name, "resourceClaimName": name} for name in sorted(claims)
            ]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "namespace": self.namespace, "uid": self.uid},
            "spec": spec,
            "status": {"phase": "Pending"},
        }


@attrs.frozen
class ContainerStatus:
    """`health`: resource -> device -> health, as the status tells it. `restarts`: how often it was
    started again."""

    name: str
    state: Literal["waiting", "running", "terminated"] = "waiting"
    reason: str = ""
    message: str = ""
    restarts: int = 0
    health: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)


@attrs.frozen
class PodStatus:
    """The status of a pod; `containers` has init containers, too."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    containers: Mapping[str, ContainerStatus] = attrs.field(factory=dict)


def device_pod(spec: PodSpec) -> Pod:
    """The pod as the device manager sees it."""
    return Pod(
        uid=spec.uid,
        app=tuple(map(_device_container, spec.app)),
        init=tuple(map(_device_container, spec.init)),
        pod_level=spec.pod_level,
        name=spec.name,
        namespace=spec.namespace,
    )


def _device_container(spec: ContainerSpec) -> Container:
    return Container(spec.name, spec.limits, spec.restartable, spec.claimed)
