"""What commands in a virtual container find: who they are, and the files that a runtime writes."""

from __future__ import annotations

import threading

from refimpl.cri.state.models import Container, Sandbox
from refimpl.cri.virtual.machine.files import Files
from refimpl.cri.virtual.machine.generated import Machine, texts
from refimpl.cri.virtual.machine.node import Node
from refimpl.cri.virtual.machine.owners import Ids
from refimpl.cri.virtual.machine.places import Memory
from refimpl.cri.virtual.machine.table import Mounted, Table
from refimpl.cri.virtual.shell.world import World

__all__ = ["world_of"]

_POD = 0
"""NamespaceMode of CRI."""
_USERS = {"root": 0, "daemon": 1, "www-data": 33, "nobody": 65534}
"""Of every image: uid by name."""


def world_of(
    container: Container, sandbox: Sandbox | None, over: threading.Event, node: Node
) -> World:
    """As the configurations have it; what they do not name is the image's."""
    image, config = container.image, container.config
    env = dict(each.partition("=")[::2] for each in image.env)
    if config is None:
        return World(env=env, over=over)
    env |= {each.key: each.value.decode(errors="replace") for each in config.envs}
    context = config.linux.security_context
    named, _, group = image.user.partition(":")
    user = str(context.run_as_user.value) if context.HasField("run_as_user") else ""
    asked = context.HasField("run_as_group")
    return World(
        env=env,
        workdir=config.working_dir or image.workdir or "/",
        uid=_number(user or context.run_as_username or named),
        gid=context.run_as_group.value if asked else _number(group),
        groups=tuple(context.supplemental_groups),
        users={uid: name for name, uid in _USERS.items()},
        files=_files(container, sandbox, node),
        masked=frozenset(context.masked_paths),
        over=over,
    )


def _files(container: Container, sandbox: Sandbox | None, node: Node) -> Files:
    config = container.config
    context = config.linux.security_context
    users = context.namespace_options.userns_options
    ids = Ids.of(users.uids, users.gids) if users.mode == _POD else Ids()
    root = Mounted(at="/", place=Memory(loose=True), readonly=context.readonly_rootfs)
    table = Table([root, *node.mounted(container)])
    files = Files(table, context.readonly_paths, node=node, privileged=context.privileged, ids=ids)
    files.generate(ids.texts())
    files.generate(
        texts(
            Machine(
                container=container, sandbox=sandbox, table=table, resources=container.resources
            )
        )
    )
    return files


def _number(user: str) -> int:
    return int(user) if user.isdecimal() else _USERS.get(user, 0)
