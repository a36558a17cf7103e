"""What the state is told and tells: devices, answers of plugins, pods. All plain and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

Config = dict[str, Any]
"""A CRI ContainerConfig as a dictionary: envs, mounts, devices, annotations, CDI_devices."""

HEALTHY = "Healthy"
"""The one word that makes a device healthy; its case counts."""
NO_NODE = -1
"""Stands for a NUMA node where a record is kept of devices that have none."""


@attrs.frozen
class Device:
    """One entry of a ListAndWatch message. `nodes`: NUMA ids; None = no topology was sent, () = one
    without nodes, which is not the same everywhere."""

    id: str
    health: str = HEALTHY
    nodes: tuple[int, ...] | None = None

    @property
    def healthy(self) -> bool:
        """True for exactly `Healthy`."""
        return self.health == HEALTHY


@attrs.frozen
class PluginOptions:
    """What GetDevicePluginOptions answered."""

    pre_start: bool = False
    preferred: bool = False


@attrs.frozen
class Mount:
    """A path of the host that a plugin wants in the container."""

    container_path: str
    host_path: str
    read_only: bool = False


@attrs.frozen
class DeviceNode:
    """A device file that a plugin wants in the container; permissions: any of r, w, m."""

    container_path: str
    host_path: str
    permissions: str = "rw"


@attrs.frozen
class ContainerResponse:
    """What Allocate answered for one container and resource; `cdi_devices` are qualified names."""

    envs: Mapping[str, str] = attrs.field(factory=dict)
    mounts: tuple[Mount, ...] = ()
    devices: tuple[DeviceNode, ...] = ()
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    cdi_devices: tuple[str, ...] = ()


@attrs.frozen
class Container:
    """A container of a pod spec. `limits`: extended resource -> count. `restartable`: an init
    container that keeps running. `claimed`: resources that a DRA claim backs."""

    name: str
    limits: Mapping[str, int] = attrs.field(factory=dict)
    restartable: bool = False
    claimed: frozenset[str] = frozenset()


@attrs.frozen
class Pod:
    """A pod spec, as far as devices matter; `pod_level`: it sets resources of the pod as such."""

    uid: str
    app: tuple[Container, ...] = ()
    init: tuple[Container, ...] = ()
    pod_level: bool = False
    name: str = ""
    namespace: str = "default"

    @property
    def containers(self) -> tuple[Container, ...]:
        """In the order in which they are given devices: init containers first, as in the spec."""
        return (*self.init, *self.app)


@attrs.frozen
class Admission:
    """The outcome of an admission; `reason` and `message` are those of the pod's status.

    `configs`: container -> what the plugins want in it, as part of a CRI ContainerConfig. Empty for
    a pod that is refused, or whose devices are allocated when it starts.
    """

    accepted: bool
    reason: str = ""
    message: str = ""
    configs: Mapping[str, Config] = attrs.field(factory=dict)
