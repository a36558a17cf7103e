"""Pods as cases write them, and as a kubelet shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

__all__ = ["Capacity", "ContainerSpec", "ContainerState", "PodSpec", "PodState"]

IMAGE = "refimpl.example/pause:1"
"""The image of every container; a fake runtime has all images."""


@attrs.frozen
class ContainerSpec:
    """A container that runs until it is told to end. `limits`: extended resource -> count.
    `restartable`: an init container that keeps running. `claimed`: resources that a DRA claim
    backs."""

    name: str = "main"
    limits: Mapping[str, int] = attrs.field(factory=dict)
    env: Mapping[str, str] = attrs.field(factory=dict)
    restartable: bool = False
    claimed: frozenset[str] = frozenset()

    def manifest(self) -> dict[str, Any]:
        """As in a pod's `spec.containers`."""
        made: dict[str, Any] = {
            "name": self.name,
            "image": IMAGE,
            "imagePullPolicy": "Never",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "env": [{"name": key, "value": value} for key, value in self.env.items()],
        }
        if self.limits:
            counted = {name: str(count) for name, count in self.limits.items()}
            made["resources"] = {"limits": counted, "requests": counted}
        return made | ({"restartPolicy": "Always"} if self.restartable else {})


@attrs.frozen
class PodSpec:
    """A pod bound to the node. `pod_level`: it sets resources of the pod as such (one CPU)."""

    name: str
    uid: str
    app: tuple[ContainerSpec, ...] = (ContainerSpec(),)
    init: tuple[ContainerSpec, ...] = ()
    restart: Literal["Always", "OnFailure", "Never"] = "Always"
    pod_level: bool = False
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
            spec["resources"] = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "namespace": self.namespace, "uid": self.uid},
            "spec": spec,
            "status": {"phase": "Pending"},
        }


@attrs.frozen
class ContainerState:
    """`health`: resource -> device -> health, as the status tells it. `restarts`: how often it was
    started again."""

    name: str
    state: Literal["waiting", "running", "terminated"] = "waiting"
    reason: str = ""
    message: str = ""
    restarts: int = 0
    health: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)


@attrs.frozen
class PodState:
    """The status of a pod; `containers` has init containers, too."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    containers: Mapping[str, ContainerState] = attrs.field(factory=dict)


@attrs.frozen
class Capacity:
    """The extended resources of the node's status: resource -> count."""

    capacity: Mapping[str, int] = attrs.field(factory=dict)
    allocatable: Mapping[str, int] = attrs.field(factory=dict)
