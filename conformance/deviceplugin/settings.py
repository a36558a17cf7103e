"""What a user says of a device target: the `--dp-` options, the [deviceplugin] table of a file."""

from __future__ import annotations

from typing import Literal

import msgspec

DeviceHook = Literal[
    "break_device",
    "mend_device",
    "add_device",
    "remove_device",
    "break_source",
    "mend_source",
]


class DpSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Everything of a target that its command does not tell.

    Of a plugin. resource: the one that is judged, the first it registers when empty. illusion:
    whether the plugin finds its folder at /var/lib/kubelet; auto does so for a command without
    {kubelet}, {device-plugins} and {registry}. env: variables of its process, with placeholders.
    version: of the plugin, for expectations. empty_command: starts it where it has no device.
    hooks: commands with {id} that change what the node has. numa_nodes: nodes that exist, those of
    this machine when empty. cdi_dirs: where its CDI files lie. quiet_s: how long a case watches
    that nothing happens, 2 s when 0; of a client, too.
    """

    resource: str = ""
    illusion: Literal["auto", "always", "never"] = "auto"
    env: dict[str, str] = {}
    version: str = ""
    empty_command: list[str] = []
    hooks: dict[DeviceHook, list[str]] = {}
    numa_nodes: list[int] = []
    cdi_dirs: tuple[str, ...] = ("/etc/cdi", "/var/run/cdi")
    quiet_s: float = 0.0
