"""What commands in a virtual container find: who they are, and the files that a runtime writes."""

from __future__ import annotations

import threading
from typing import Any

from refimpl.cri.state.models import Container, Sandbox
from refimpl.cri.virtual.shell import World

__all__ = ["world_of"]

_USERS = {"root": 0, "daemon": 1, "www-data": 33, "nobody": 65534}
"""Of every image: uid by name."""


def world_of(container: Container, sandbox: Sandbox | None, over: threading.Event) -> World:
    """As the configurations have it; what they do not name is the image's."""
    image, config = container.image, container.config
    env = dict(each.partition("=")[::2] for each in image.env)
    pod = sandbox.config if sandbox else None
    files = {} if pod is None else _files(pod)
    if config is None:
        return World(env=env, over=over, files=files)
    env |= {each.key: each.value.decode(errors="replace") for each in config.envs}
    context = config.linux.security_context
    named, _, group = image.user.partition(":")
    user = str(context.run_as_user.value) if context.HasField("run_as_user") else ""
    asked = context.HasField("run_as_group")
    readonly = ["/"] if context.readonly_rootfs else [*context.readonly_paths]
    # Below a path of the host may be mounts of their own, which can be written.
    volumes = [each for each in config.mounts if each.HasField("image")]
    readonly += [each.container_path for each in volumes if each.readonly]
    return World(
        env=env,
        workdir=config.working_dir or image.workdir or "/",
        uid=_number(user or context.run_as_username or named),
        gid=context.run_as_group.value if asked else _number(group),
        groups=tuple(context.supplemental_groups),
        users={uid: name for name, uid in _USERS.items()},
        files=files,
        readonly=tuple(readonly),
        masked=frozenset(context.masked_paths),
        over=over,
    )


def _files(pod: Any) -> dict[str, bytes | None]:
    """Those of a sandbox: its names, its resolver, its sysctls."""
    dns = pod.dns_config
    lines = [f"nameserver {server}" for server in dns.servers]
    if dns.searches:
        lines.append(f"search {' '.join(dns.searches)}")
    if dns.options:
        lines.append(f"options {' '.join(dns.options)}")
    texts = {f"/proc/sys/{key.replace('.', '/')}": v for key, v in pod.linux.sysctls.items()}
    if lines:
        texts["/etc/resolv.conf"] = "\n".join(lines)
    if pod.hostname:
        texts["/etc/hostname"] = pod.hostname
    return {path: f"{text}\n".encode() for path, text in texts.items()}


def _number(user: str) -> int:
    return int(user) if user.isdecimal() else _USERS.get(user, 0)
