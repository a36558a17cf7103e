"""Applies edits to an OCI runtime specification (config.json as a dict), whole or not at all."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from refimpl.cdi.edits import NO_PERMISSIONS
from refimpl.cdi.host import HostNode, Lookup, host_node
from refimpl.cdi.model import ContainerEdits, DeviceNode, Hook, Mount, NetDevice, encode
from refimpl.cdi.registry import Registry

Config = dict[str, Any]


class InjectError(ValueError):
    """An edit that cannot be applied; the text names it, why, and what to do."""


@attrs.frozen
class InjectionChoices:
    """What injectors decide differently.

    unique_devices   a device requested twice is injected once
    env_in_place     a variable that the config sets changes there, instead of being set twice
    id_mapped        in a user namespace bind mounts keep their owners (idmap, ridmap)
    unbuffered       a node of type u is the character device that the host shows it as
    one_interface    two devices must not move the same interface, or give one name twice
    no_permissions   "none" stands for no permissions; without it, for the letters n, o, n, e
    """

    unique_devices: bool = True
    env_in_place: bool = True
    id_mapped: bool = True
    unbuffered: bool = True
    one_interface: bool = True
    no_permissions: bool = True


CHOICES = {
    "strict": InjectionChoices(),
    "practice": InjectionChoices(unique_devices=False, unbuffered=False),
    "library-1.1.0": InjectionChoices(
        unique_devices=False,
        env_in_place=False,
        id_mapped=False,
        unbuffered=False,
        one_interface=False,
        no_permissions=False,
    ),
}
"""`strict` is the specification, `practice` the Go library of 1.1.2."""


def inject(
    registry: Registry,
    config: Config,
    names: Iterable[str],
    *,
    choices: InjectionChoices = CHOICES["strict"],
    lookup: Lookup = host_node,
) -> Config:
    """The config with the requested devices; the given one stays as it is.

    Raises Unresolved, which names every device that cannot be resolved, and InjectError.
    """
    return apply(
        registry.edits(names, unique=choices.unique_devices),
        config,
        choices=choices,
        lookup=lookup,
    )


def apply(
    edits: ContainerEdits,
    config: Config,
    *,
    choices: InjectionChoices = CHOICES["strict"],
    lookup: Lookup = host_node,
) -> Config:
    """The config with the edits, as a copy; raises InjectError."""
    editor = _Editor(copy.deepcopy(config), choices, lookup)
    editor.env(edits.env)
    for node in edits.device_nodes:
        editor.device(node)
    editor.interfaces(edits.net_devices)
    editor.mounts(edits.mounts)
    for hook in edits.hooks:
        editor.hook(hook)
    if edits.intel_rdt is not None:
        editor.within("linux")["intelRdt"] = encode(edits.intel_rdt)
    editor.groups(edits.additional_gids)
    return editor.config


class _Editor:
    """One config on its way; what the caller gave is not touched."""

    def __init__(self, config: Config, choices: InjectionChoices, lookup: Lookup) -> None:
        self.config, self.choices, self.lookup = config, choices, lookup
        if not isinstance(config, dict):
            raise InjectError("the config is no object; give an OCI runtime specification")

    def within(self, *path: str) -> dict[str, Any]:
        """The object at the path, made where it is missing."""
        owner = self.config
        for step in path[:-1]:
            owner = self._member(owner, step, {})
        member: dict[str, Any] = self._member(owner, path[-1], {})
        return member

    def listed(self, *path: str) -> list[Any]:
        """The array at the path, made where it is missing."""
        owner = self.within(*path[:-1]) if len(path) > 1 else self.config
        member: list[Any] = self._member(owner, path[-1], [])
        return member

    def _member(self, owner: dict[str, Any], step: str, empty: Any) -> Any:
        if owner.get(step) is None:
            owner[step] = empty
        if type(owner[step]) is not type(empty):
            expected = "an object" if isinstance(empty, dict) else "an array"
            raise InjectError(
                f"{step} of the config is not {expected}; give an OCI runtime specification"
            )
        return owner[step]

    def env(self, variables: Sequence[str]) -> None:
        """A variable that is set already changes where it stands, others come to the end."""
        if not variables:
            return
        variables_set = self.listed("process", "env")
        first = 0 if self.choices.env_in_place else len(variables_set)
        places = {
            str(entry).partition("=")[0]: index
            for index, entry in enumerate(variables_set)
            if index >= first
        }
        for variable in variables:
            name = variable.partition("=")[0]
            if name in places:
                variables_set[places[name]] = variable
            else:
                places[name] = len(variables_set)
                variables_set.append(variable)

    def device(self, edit: DeviceNode) -> None:
        """The node, in the place of one with its path, and what the cgroup allows on it."""
        node = self._completed(edit)
        devices = self.listed("linux", "devices")
        _drop(devices, "path", node.path)
        device = {"path": node.path, "type": node.type, "major": node.major, "minor": node.minor}
        owner = self._user()
        uid = owner.get("uid") or None if node.uid is None else node.uid
        gid = owner.get("gid") or None if node.gid is None else node.gid
        for name, value in (("fileMode", node.file_mode), ("uid", uid), ("gid", gid)):
            if value is not None:
                device[name] = value
        devices.append(device)
        if node.type in ("b", "c"):
            self._allow(node)

    def _user(self) -> dict[str, Any]:
        user = (self.config.get("process") or {}).get("user")
        return user if isinstance(user, dict) else {}

    def _allow(self, node: DeviceNode) -> None:
        access = node.permissions or "rwm"
        if access == NO_PERMISSIONS and self.choices.no_permissions:
            access = ""
        self.listed("linux", "resources", "devices").append(
            {
                "allow": True,
                "type": node.type,
                "major": node.major,
                "minor": node.minor,
                "access": access,
            }
        )

    def _completed(self, node: DeviceNode) -> DeviceNode:
        """With what the specification leaves to the node of the host, looked up anew each time."""
        path = node.host_path or node.path
        # A vendor may describe a node in full; then the host need not have it.
        described = bool(node.type) and (node.major != 0 or node.type == "p")
        try:
            host = self.lookup(path)
        except OSError as error:
            if described:
                return node
            raise InjectError(
                f"device node {node.path}: {path} of the host: {error.strerror or error}; load its"
                " driver, or give type and major"
            ) from error
        if not host.type:
            if described:
                return node
            raise InjectError(f"device node {node.path}: {path} of the host is no device node")
        mode = host.mode if node.file_mode is None else node.file_mode
        node = attrs.evolve(node, file_mode=mode)
        return node if described else self._numbered(node, host, path)

    def _numbered(self, node: DeviceNode, host: HostNode, path: str) -> DeviceNode:
        kind = node.type or host.type
        host_type = (
            "u" if kind == "u" and host.type == "c" and self.choices.unbuffered else host.type
        )
        if kind != host_type:
            raise InjectError(
                f"device node {node.path} is of type {kind}, but {path} of the host of type"
                f" {host.type}; correct the specification"
            )
        if kind == "p" or node.major:
            return attrs.evolve(node, type=kind)
        return attrs.evolve(node, type=kind, major=host.major, minor=host.minor)

    def mounts(self, mounts: Iterable[Mount]) -> None:
        """Each in the place of one with its destination; then parents before what is in them."""
        mapped = self.choices.id_mapped and self._maps_ids()
        added = False
        for mount in mounts:
            listed = self.listed("mounts")
            _drop(listed, "destination", mount.container_path)
            listed.append(_mount(mount, mapped))
            added = True
        if added:
            self.listed("mounts").sort(key=_depth)

    def _maps_ids(self) -> bool:
        """Runtimes refuse id-mapped mounts unless the namespace has mappings of both kinds."""
        linux = self.config.get("linux")
        if not isinstance(linux, dict):
            return False
        namespaces = linux.get("namespaces") or ()
        return (
            any(
                isinstance(namespace, dict) and namespace.get("type") == "user"
                for namespace in namespaces
            )
            and bool(linux.get("uidMappings"))
            and bool(linux.get("gidMappings"))
        )

    def interfaces(self, interfaces: Iterable[NetDevice]) -> None:
        """By the name on the host."""
        names: dict[str, str] = {}
        hosts: set[str] = set()
        for interface in interfaces:
            host, name = interface.host_interface_name, interface.name
            if self.choices.one_interface and (host in hosts or name in names):
                raise InjectError(
                    f"net device {host} as {name}: {names.get(name, host)} is moved already, as"
                    f" {name if name in names else 'another name'}; request one of the devices"
                )
            hosts.add(host)
            names[name] = host
            self.within("linux", "netDevices")[host] = {"name": name}

    def hook(self, hook: Hook) -> None:
        """At the end of its stage."""
        entry = encode(hook)
        stage = entry.pop("hookName")
        self.listed("hooks", stage).append(entry)

    def groups(self, gids: Iterable[int]) -> None:
        """Each once; zero is ignored, as the specification says."""
        for gid in gids:
            if gid and gid not in (listed := self.listed("process", "user", "additionalGids")):
                listed.append(gid)


def _drop(items: list[Any], name: str, value: str) -> None:
    """Takes the first item away whose member has the value."""
    for place, item in enumerate(items):
        if isinstance(item, dict) and item.get(name) == value:
            del items[place]
            return


def _mount(mount: Mount, mapped: bool) -> Config:
    entry: Config = {"source": mount.host_path, "destination": mount.container_path}
    if mount.type:
        entry["type"] = mount.type
    options = [*mount.options, *(_mapping(mount) if mapped else ())]
    if options:
        entry["options"] = options
    return entry


def _mapping(mount: Mount) -> tuple[str, ...]:
    """The option that keeps the owners of a bind mount in a user namespace."""
    if {"idmap", "ridmap"} & set(mount.options):
        return ()
    binds = [option for option in mount.options if option in ("bind", "rbind")]
    if binds:
        return ("idmap",) if binds[-1] == "bind" else ("ridmap",)
    return ("idmap",) if mount.type == "bind" else ()


def _depth(mount: Any) -> int:
    """How many slashes a destination has once it is tidied; the root has one."""
    destination = str(mount.get("destination", "")) if isinstance(mount, dict) else ""
    parts: list[str] = []
    for part in destination.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", ".") and not (part == ".." and destination.startswith("/")):
            parts.append(part)
    if destination.startswith("/"):
        return max(len(parts), 1)
    return max(len(parts) - 1, 0)
