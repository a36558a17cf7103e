"""config.json of a container, of its CRI configuration and of what was found out for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from refimpl.cdi.host import HostNode
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.commands import command_of, environment_of, folder_of
from refimpl.cri.oci.config.capabilities import capabilities
from refimpl.cri.oci.config.devices import allowed, devices
from refimpl.cri.oci.config.mounts import mounts, root_propagation
from refimpl.cri.oci.config.namespaces import Shared, of_container, user_mappings
from refimpl.cri.oci.config.resources import cgroup_path, oom_score, resources
from refimpl.cri.oci.config.seccomp import seccomp
from refimpl.cri.oci.config.users import User
from refimpl.cri.state.models import Container

__all__ = ["VERSION", "Around", "container_config"]

VERSION = "1.0.2"
"""Of the runtime-spec: what is written here is in all versions from this on, and old programs
refuse a newer number."""
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@attrs.frozen(kw_only=True)
class Around:
    """What was found out for a container. pod: the PodSandboxConfig. rootfs: path. parent: cgroup.
    sources: of its mounts, in their order. files: the sandbox's, as of `mounts`. devices: path
    inside, node, permissions. available: capabilities of the runtime itself. profile: text of the
    seccomp profile on the node. raised: see `oom_score`."""

    pod: Any
    rootfs: str
    parent: str
    shared: Shared
    user: User = attrs.field(factory=User)
    sources: Sequence[str] = ()
    files: Mapping[str, str] = attrs.field(factory=dict)
    devices: Sequence[tuple[str, HostNode, str]] = ()
    available: Collection[str] = ()
    machine: str = "x86_64"
    profile: str = ""
    raised: bool = False


def container_config(container: Container, around: Around) -> dict[str, Any]:
    """The whole document. Raises Refused for what it cannot say."""
    config = container.config
    context = config.linux.security_context
    options = context.namespace_options
    granted = capabilities(context, around.available)
    filtered = seccomp(context, granted["permitted"], around.machine, around.profile)
    users = user_mappings(around.pod.linux.security_context.namespace_options)
    linux: dict[str, Any] = {
        "cgroupsPath": cgroup_path(around.parent, container.id),
        "namespaces": of_container(options, around.shared, userns=bool(users)),
        "resources": {**resources(container.resources), "devices": _allowed(around, context)},
        "devices": devices((path, node) for path, node, _ in around.devices),
        "rootfsPropagation": root_propagation(config),
        **users,
    }
    if not context.privileged:
        linux["maskedPaths"] = list(context.masked_paths)
        linux["readonlyPaths"] = list(context.readonly_paths)
    if filtered is not None:
        linux["seccomp"] = filtered
    return {
        "ociVersion": VERSION,
        "root": {"path": around.rootfs, "readonly": bool(context.readonly_rootfs)},
        "process": _process(container, around, granted),
        "mounts": mounts(config, around.sources, around.files, host_ipc=options.ipc == pb.NODE),
        "annotations": dict(config.annotations),
        "linux": linux,
    }


def _process(
    container: Container, around: Around, granted: Mapping[str, list[str]]
) -> dict[str, Any]:
    config, user = container.config, around.user
    made: dict[str, Any] = {
        "terminal": bool(config.tty),
        "user": {"uid": user.uid, "gid": user.gid, "additionalGids": list(user.groups)},
        "args": command_of(container),
        "env": _environment(container, around.pod),
        "cwd": folder_of(container),
        "capabilities": dict(granted),
        "noNewPrivileges": bool(config.linux.security_context.no_new_privs),
        "oomScoreAdj": oom_score(container.resources, raised=around.raised),
    }
    return made


def _environment(container: Container, pod: Any) -> list[str]:
    """Its own and its image's over what every process finds."""
    found = dict(each.partition("=")[::2] for each in (_PATH, f"HOSTNAME={pod.hostname}"))
    if container.config.tty:
        found["TERM"] = "xterm"
    if not pod.hostname:
        del found["HOSTNAME"]
    found |= environment_of(container)
    return [f"{name}={value}" for name, value in found.items()]


def _allowed(around: Around, context: Any) -> list[Mapping[str, Any]]:
    own = ((node, permissions) for _, node, permissions in around.devices)
    return allowed(own, privileged=bool(context.privileged))
