"""A host that is a folder: the kernel that the fake plugins write to, seen and changed as a case
sees and changes a real one."""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from refimpl.cni.host.views import (
    HOST,
    HostError,
    Link,
    NamespaceView,
    RouteView,
    Snapshot,
    tree,
)
from refimpl.cni.plugins import kernel

__all__ = ["Simulated"]

KINDS = frozenset({"veth", "bridge"})
"""The kinds of links that the fake plugins make."""


class Simulated:
    """A `Host` in `folder`: `kernel` is the file to name in the settings of the fake plugins,
    namespaces are files below netns/. Any number of objects and processes may share a folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()
        self.kernel = self.folder / "kernel.json"
        self._spaces = self.folder / "netns"
        self._spaces.mkdir(parents=True, exist_ok=True)
        with kernel.Change(str(self.kernel)) as state:
            if not state["own"]:
                state["own"] = self._new_file("own", secrets.token_hex(8))

    def _new_file(self, name: str, token: str) -> str:
        path = self._spaces / name
        try:
            with path.open("x") as file:
                file.write(f"netns {token}\n")
        except FileExistsError:
            raise HostError(f"there is a namespace {name} already: {path}") from None
        return str(path)

    def make_netns(self, name: str = "") -> str:
        """Makes a namespace with its loopback; raises HostError when the name is taken."""
        token = secrets.token_hex(8)
        path = self._new_file(name or f"cni-{token}", token)
        with kernel.Change(str(self.kernel)) as state:
            state["namespaces"][path] = kernel.new_namespace(token)
        return path

    def remove_netns(self, path: str) -> None:
        """Removes the namespace, the far ends of its links, and whatever is at its path."""
        with kernel.Change(str(self.kernel)) as state:
            space = state["namespaces"].pop(path, None) if path != HOST else None
            for name in list(space["links"] if space else ()):
                kernel.remove_link(state, space or {}, name)
        place = Path(path)
        if place.is_symlink() or place.is_file():
            with suppress(FileNotFoundError):
                place.unlink()

    def own_netns(self) -> str:
        """The path of the namespace that stands for the plugins' own."""
        return str(kernel.read(str(self.kernel))["own"])

    def links(self, netns: str | None = None) -> dict[str, Link]:
        """The links of a namespace by name. Raises HostError."""
        return dict(_view(self._read(netns)).links)

    def routes(self, netns: str | None = None) -> tuple[RouteView, ...]:
        """The routes of a namespace. Raises HostError."""
        return _view(self._read(netns)).routes

    def snapshot(self, *paths: str | os.PathLike[str]) -> Snapshot:
        """Every namespace that is there, the rules that plugins noted on the host, the files."""
        state = kernel.read(str(self.kernel))
        spaces = state["namespaces"]
        alive = [p for p in spaces if p == HOST or kernel.state_of(state, p) != "missing"]
        return Snapshot({path: _view(spaces[path]) for path in alive}, (), tree(*paths))

    def delete_link(self, netns: str | None, name: str) -> None:
        """Removes a link and the other end of its pair. Raises HostError."""
        with self._change(netns, name) as (state, space, _):
            kernel.remove_link(state, space, name)

    def flush_addresses(self, netns: str | None, name: str) -> None:
        """Takes the addresses off a link; the routes through it go with them. Raises HostError."""
        with self._change(netns, name) as (_, space, link):
            link["addresses"] = []
            _drop_routes(space, name)

    def delete_route(self, netns: str | None, dst: str) -> None:
        """Removes every route to a destination. Raises HostError when there is none."""
        with kernel.Change(str(self.kernel)) as state:
            space = _space(state, netns)
            kept = [route for route in space["routes"] if route["dst"] != dst]
            if len(kept) == len(space["routes"]):
                raise HostError(f"there is no route to {dst} in {netns or 'the host'}")
            space["routes"] = kept

    def set_down(self, netns: str | None, name: str) -> None:
        """Takes a link down; the routes through it go. Raises HostError."""
        with self._change(netns, name) as (_, space, link):
            link["up"] = False
            _drop_routes(space, name)

    def set_mac(self, netns: str | None, name: str, mac: str) -> None:
        """Gives a link another hardware address. Raises HostError."""
        with self._change(netns, name) as (_, _space, link):
            link["mac"] = mac.lower()

    def add_link(self, netns: str | None, name: str) -> None:
        """Adds a link of nobody. Raises HostError when the name is taken."""
        with kernel.Change(str(self.kernel)) as state:
            _new_link(state, netns, name)

    def add_pair(self, netns: str, name: str, outside: str) -> None:
        """Adds both ends of a pair, up. Raises HostError when a name is taken."""
        with kernel.Change(str(self.kernel)) as state:
            common = {"up": True, "pair": f"{netns}/{name}"}
            _new_link(state, netns, name).update(common, peer=outside)
            _new_link(state, None, outside).update(common, peer=name)

    def add_address(self, netns: str | None, name: str, address: str) -> None:
        """Puts an address on a link, with the route to its network. Raises HostError."""
        with self._change(netns, name) as (_, space, link):
            link["addresses"].append(address)
            space["routes"].append({"dst": _network(address), "gw": "", "dev": name})

    def add_route(self, netns: str | None, dst: str, gw: str) -> None:
        """Adds a route by a gateway in the network of a link. Raises HostError."""
        with kernel.Change(str(self.kernel)) as state:
            space = _space(state, netns)
            near = [each for each in space["routes"] if not each["gw"]]
            through = next((each["dev"] for each in near if _holds(each["dst"], gw)), "")
            if not through:
                raise HostError(f"no link of {netns or 'the host'} reaches the gateway {gw}")
            space["routes"].append({"dst": dst, "gw": gw, "dev": through})

    def supports(self, kind: str) -> bool:
        """Whether the fake plugins make links of that kind."""
        return kind in KINDS

    def _read(self, netns: str | None) -> dict[str, Any]:
        return _space(kernel.read(str(self.kernel)), netns)

    @contextmanager
    def _change(
        self, netns: str | None, name: str
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
        with kernel.Change(str(self.kernel)) as state:
            space = _space(state, netns)
            if name not in space["links"]:
                raise HostError(f"there is no link {name} in {netns or 'the host'}")
            yield state, space, space["links"][name]


def _space(state: dict[str, Any], netns: str | None) -> dict[str, Any]:
    space = kernel.namespace(state, netns or HOST)
    if space is None:
        what = kernel.state_of(state, netns or "")
        raise HostError(f"{netns} is no namespace of this host: {what}")
    return space


def _new_link(state: dict[str, Any], netns: str | None, name: str) -> dict[str, Any]:
    space = _space(state, netns)
    if name in space["links"]:
        raise HostError(f"there is a link {name} in {netns or 'the host'} already")
    mac = "02:" + ":".join(f"{byte:02x}" for byte in secrets.token_bytes(5))
    link = {**kernel.loopback(), "kind": "veth", "mac": mac, "mtu": 1500}
    space["links"][name] = link
    return link


def _network(address: str) -> str:
    return str(ipaddress.ip_interface(address).network)


def _holds(network: str, address: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(network)


def _drop_routes(space: dict[str, Any], dev: str) -> None:
    space["routes"] = [route for route in space["routes"] if route["dev"] != dev]


def _view(space: dict[str, Any]) -> NamespaceView:
    links = {name: _link(name, about) for name, about in space["links"].items()}
    routes = tuple(RouteView(**route) for route in space["routes"])
    return NamespaceView(links, routes, tuple(space["rules"]))


def _link(name: str, about: dict[str, Any]) -> Link:
    return Link(
        name=name,
        mac=about["mac"],
        mtu=about["mtu"],
        up=about["up"],
        addresses=tuple(sorted(about["addresses"])),
        kind=about["kind"],
        master=about["master"],
        peer=about["peer"],
    )
