"""What plugins want in a container, merged into its configuration for the runtime (2.8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from refimpl.deviceplugin.state.models import Config, ContainerResponse


@attrs.define
class Wishes:
    """All answers of one container together. Of two for the same key, path or name the first wins;
    `conflicts` has a sentence for each that wanted something else."""

    envs: dict[str, str] = attrs.field(factory=dict)
    mounts: dict[str, Config] = attrs.field(factory=dict)
    devices: dict[str, Config] = attrs.field(factory=dict)
    annotations: dict[str, str] = attrs.field(factory=dict)
    cdi_devices: dict[str, Config] = attrs.field(factory=dict)
    conflicts: list[str] = attrs.field(factory=list)

    def add(self, response: ContainerResponse, *, cdi: bool = True) -> None:
        """Take in the answer of one resource; `cdi`: this kubelet knows CDI device names."""
        for key, value in response.envs.items():
            self._put("env", self.envs, key, value)
        for device in response.devices:
            self._put("device", self.devices, device.container_path, attrs.asdict(device))
        for mount in response.mounts:
            self._put("mount", self.mounts, mount.container_path, _mount(attrs.asdict(mount)))
        for key, value in response.annotations.items():
            self._put("annotation", self.annotations, key, value)
        for name in response.cdi_devices if cdi else ():
            self.cdi_devices.setdefault(name, {"name": name})

    def _put(self, kind: str, kept: dict[str, Any], key: str, value: Any) -> None:
        first = kept.setdefault(key, value)
        if _essence(first) != _essence(value):
            self.conflicts.append(f"{kind} {key}: {_essence(value)} is dropped for {first}")


def merge(
    config: Mapping[str, Any], responses: Iterable[ContainerResponse], *, cdi: bool = True
) -> tuple[Config, tuple[str, ...]]:
    """The configuration with the plugins' wishes in it, and sentences on what did not go together.

    Envs and mounts of plugins stand before the pod's own, so that the pod's win where the last one
    does. Annotations that `config` has already are kubelet's and stay.
    """
    wishes = Wishes()
    for response in responses:
        wishes.add(response, cdi=cdi)
    envs = [{"key": key, "value": value} for key, value in wishes.envs.items()]
    merged = dict(config)
    merged["envs"] = [*envs, *config.get("envs", ())]
    merged["mounts"] = [*wishes.mounts.values(), *config.get("mounts", ())]
    merged["devices"] = [*config.get("devices", ()), *wishes.devices.values()]
    merged["annotations"] = wishes.annotations | dict(config.get("annotations", {}))
    merged["CDI_devices"] = [*config.get("CDI_devices", ()), *wishes.cdi_devices.values()]
    return merged, tuple(wishes.conflicts)


def _mount(mount: Config) -> Config:
    """As CRI names it; private propagation and no relabelling are its defaults."""
    mount["readonly"] = mount.pop("read_only")
    return mount


def _essence(value: Any) -> Any:
    """What makes two wishes contradict each other: for paths, the path on the host alone."""
    return value["host_path"] if isinstance(value, dict) else value
