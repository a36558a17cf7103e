"""config.json of the process that holds the namespaces of a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.oci.config.capabilities import capabilities
from refimpl.cri.oci.config.container import VERSION
from refimpl.cri.oci.config.devices import allowed
from refimpl.cri.oci.config.mounts import mounts
from refimpl.cri.oci.config.namespaces import of_sandbox, user_mappings
from refimpl.cri.oci.config.resources import cgroup_path
from refimpl.cri.state.models import Sandbox

__all__ = ["sandbox_config"]

PROGRAM = "/pause"


def sandbox_config(
    sandbox: Sandbox, rootfs: str, files: Mapping[str, str], parent: str, userns: str = ""
) -> dict[str, Any]:
    """The whole document. rootfs: path of a folder with `PROGRAM` in it. parent: cgroup."""
    pod = sandbox.config
    options = pod.linux.security_context.namespace_options
    nothing = pb.ContainerConfig()
    linux: dict[str, Any] = {
        "cgroupsPath": cgroup_path(parent, sandbox.id),
        "namespaces": of_sandbox(options, sandbox.netns, userns),
        "resources": {"devices": allowed((), privileged=False)},
        "sysctl": dict(pod.linux.sysctls),
        **user_mappings(options),
    }
    made: dict[str, Any] = {
        "ociVersion": VERSION,
        "root": {"path": rootfs, "readonly": True},
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": [PROGRAM],
            "env": [],
            "cwd": "/",
            "capabilities": capabilities(nothing.linux.security_context, ()),
            "noNewPrivileges": True,
        },
        "mounts": mounts(
            nothing, (), {"/dev/shm": files["/dev/shm"]}, host_ipc=options.ipc == pb.NODE
        ),
        "linux": linux,
    }
    if pod.hostname and options.network != pb.NODE:
        made["hostname"] = pod.hostname
    return made
