"""What a runtime knows: records of sandboxes, containers and images, and how they are asked for.

Records are replaced, not changed, so that one that was handed out stays as it was. `config` is the
message as sent, which the state keeps and never looks into; `shown` has what somebody has made of a
record to show it, as long as the record is the same, and `kept` what holds as long as its thing is
there.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

__all__ = [
    "Condition",
    "Container",
    "ContainerKey",
    "ContainerState",
    "Image",
    "NewContainer",
    "NewSandbox",
    "Sandbox",
    "SandboxKey",
    "SandboxState",
    "Wanted",
]


class SandboxState(enum.IntEnum):
    """Numbers of the schema."""

    READY = 0
    NOTREADY = 1


class ContainerState(enum.IntEnum):
    """Numbers of the schema."""

    CREATED = 0
    RUNNING = 1
    EXITED = 2
    UNKNOWN = 3


@attrs.frozen
class SandboxKey:
    """By what kubelet tells sandboxes apart; `attempt` counts those of one pod from 0."""

    name: str
    namespace: str
    uid: str
    attempt: int = 0


@attrs.frozen
class ContainerKey:
    """By what kubelet tells the containers of a sandbox apart."""

    name: str
    attempt: int = 0


@attrs.frozen(kw_only=True)
class NewSandbox:
    """A sandbox as it is asked for. host_network: on that of the node, without an address."""

    key: SandboxKey
    config: Any = None
    labels: Mapping[str, str] = attrs.field(factory=dict)
    handler: str = ""
    host_network: bool = False


@attrs.frozen(kw_only=True)
class NewContainer:
    """A container as it is asked for. image: a name or an id. log_path: a whole path, empty where
    there is to be no log. stop_signal: its number, 0 for the one that the image names. volumes:
    images to be mounted, by the number of their mount. needs: features that its handler has to
    have, and what a refusal says where it has not."""

    sandbox_id: str
    key: ContainerKey
    image: str
    config: Any = None
    labels: Mapping[str, str] = attrs.field(factory=dict)
    log_path: str = ""
    resources: Any = None
    stop_signal: int = 0
    volumes: Mapping[int, str] = attrs.field(factory=dict)
    needs: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Sandbox:
    """One sandbox. `addresses` are its IPs, none on the host's network and once it is stopped;
    `netns` is the path of its network namespace, empty where a process model has none."""

    id: str
    key: SandboxKey
    config: Any
    labels: Mapping[str, str]
    handler: str
    created_at: int
    host_network: bool = False
    netns: str = ""
    addresses: tuple[str, ...] = ()
    state: SandboxState = SandboxState.READY
    kept: dict[str, Any] = attrs.field(factory=dict, eq=False, repr=False)
    shown: dict[str, Any] = attrs.field(factory=dict, init=False, eq=False, repr=False)


@attrs.frozen
class Container:
    """One container. Times are ns, 0 for what has not come to pass; `log_path` is a whole path,
    empty where there is to be no log; `pid` is 0 while nothing runs; `volumes` are images that are
    mounted, by the number of their mount."""

    id: str
    sandbox: SandboxKey
    sandbox_id: str
    handler: str
    key: ContainerKey
    config: Any
    labels: Mapping[str, str]
    image: Image
    image_name: str
    created_at: int
    log_path: str = ""
    resources: Any = None
    stop_signal: int = 15
    pid: int = 0
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    state: ContainerState = ContainerState.CREATED
    volumes: Mapping[int, Image] = attrs.field(factory=dict)
    kept: dict[str, Any] = attrs.field(factory=dict, eq=False, repr=False)
    shown: dict[str, Any] = attrs.field(factory=dict, init=False, eq=False, repr=False)


@attrs.frozen
class Image:
    """One image. `id` is the digest of its config, `tags` and `digests` are whole references,
    `size` is in bytes. user: as the image has it: uid, name, either with a group, or empty.
    stop_signal: 0 for none. `entrypoint`, `command`, `env` (NAME=VALUE) and `workdir` are defaults
    of its containers. pinned: the collector of garbage leaves it alone. config: its OCI config as
    JSON, "" where it has none; layers: their digests, lowest first."""

    id: str
    size: int
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    user: str = ""
    stop_signal: int = 0
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    workdir: str = ""
    pinned: bool = False
    config: str = ""
    layers: tuple[str, ...] = ()


@attrs.frozen
class Condition:
    """Whether something holds, and if not, why: `reason` in one CamelCase word, `message` for
    people."""

    holds: bool = True
    reason: str = ""
    message: str = ""


@attrs.frozen
class Wanted:
    """A filter: what is given must all hold. `labels` have to be there with these values."""

    id: str = ""
    state: int | None = None
    sandbox_id: str = ""
    labels: Mapping[str, str] = attrs.field(factory=dict)
