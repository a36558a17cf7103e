"""The CDI file of a fake plugin's devices, so that the names in its answers lead somewhere."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from refimpl.cdi import ContainerEdits, Device, Spec, write
from refimpl.cdi.model import DeviceNode
from refimpl.deviceplugin.plugin.serving import HOST_DEVICE, container_path, variable

__all__ = ["write_cdi"]


def write_cdi(resource: str, ids: Iterable[str], directory: Path) -> Path:
    """Writes the file, of the kind that is called like the resource, and returns its path.

    Each device is a node and a variable, as if the plugin had answered with them. Raises SpecError
    for names that CDI does not allow, OSError.
    """
    devices = tuple(
        Device(
            id,
            container_edits=ContainerEdits(
                env=(f"{variable(resource)}_CDI={id}",),
                device_nodes=(DeviceNode(container_path(id), HOST_DEVICE),),
            ),
        )
        for id in ids
    )
    return write(Spec("0.6.0", resource, devices=devices), directory, transient_id="refimpl")
