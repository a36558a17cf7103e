"""What a case sees of the machine below the plugins: the same words for a real and a simulated one.

A `Host` is either the kernel (`kernel.Kernel`, inside a sandbox of its own) or a file that stands
for one (`simulated.Simulated`). A namespace is named by its path as a runtime would pass it in
CNI_NETNS; None is the side of the host.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from attrs import field, frozen

__all__ = ["HOST", "Host", "HostError", "Link", "NamespaceView", "RouteView", "Snapshot", "tree"]

HOST = "host"
"""The key of the host's side in `Snapshot.namespaces`."""


class HostError(Exception):
    """Something asked of a host that is not there: which namespace, link or route was named."""


@frozen
class Link:
    """One network interface. `addresses` are CIDR text with host bits and sorted; link-local IPv6
    addresses that the kernel makes by itself are left out. `mac` is lower case with colons.

    `peer` is the name of the other end of a veth pair as far as the host knows it, "" otherwise;
    `up` is the administrative state.
    """

    name: str
    mac: str = ""
    mtu: int = 1500
    up: bool = False
    addresses: tuple[str, ...] = ()
    kind: str = ""
    master: str = ""
    peer: str = ""


@frozen
class RouteView:
    """One route: `dst` is normalised CIDR text ("0.0.0.0/0" for the default route), `gw` a bare
    address or "" for a connected one, `dev` a link's name. Local and multicast tables are left out.

    mtu, advmss, priority, table and scope are 0 where nothing was set (scope 0 is global).
    """

    dst: str
    gw: str = ""
    dev: str = ""
    mtu: int = 0
    advmss: int = 0
    priority: int = 0
    table: int = 0
    scope: int = 0


@frozen
class NamespaceView:
    """All that one namespace holds. `rules` are policy rules, or what a fake plugin noted."""

    links: Mapping[str, Link] = field(factory=dict)
    routes: tuple[RouteView, ...] = ()
    rules: tuple[str, ...] = ()


@frozen
class Snapshot:
    """A moment of a host: namespaces by path (`HOST` for the host's side), the packet filter's
    rules as text, and `files` (see `tree`)."""

    namespaces: Mapping[str, NamespaceView] = field(factory=dict)
    firewall: tuple[str, ...] = ()
    files: Mapping[str, str] = field(factory=dict)

    def difference(self, later: Snapshot) -> list[str]:
        """What changed until `later`, a sentence each and sorted by place; [] when nothing did."""
        changes: list[str] = []
        for name in sorted({*self.namespaces, *later.namespaces}):
            was, now = self.namespaces.get(name), later.namespaces.get(name)
            changes += _namespace_difference(_called(name), was, now)
        changes += _members("", "firewall rule", self.firewall, later.firewall)
        changes += _changes("", "", dict(self.files), dict(later.files))
        return changes


@runtime_checkable
class Host(Protocol):
    """The machine a plugin works on. Every method that changes something raises HostError when the
    namespace, link or route it names is not there."""

    def make_netns(self, name: str = "") -> str:
        """Makes a namespace (with its loopback) and returns its path; "" picks an unused name."""
        ...

    def remove_netns(self, path: str) -> None:
        """Removes namespace and path; one that is gone already, or no namespace, is fine."""
        ...

    def own_netns(self) -> str:
        """A path of the namespace that plugins are started in."""
        ...

    def links(self, netns: str | None = None) -> dict[str, Link]:
        """The links of a namespace by name, loopback among them. Raises HostError."""
        ...

    def routes(self, netns: str | None = None) -> tuple[RouteView, ...]:
        """The routes of a namespace, in its order. Raises HostError."""
        ...

    def snapshot(self, *paths: str | os.PathLike[str]) -> Snapshot:
        """All that is now: the host's side, every namespace made here, the files at the paths."""
        ...

    def delete_link(self, netns: str | None, name: str) -> None:
        """Removes a link, and the other end if it is one of a veth pair."""
        ...

    def flush_addresses(self, netns: str | None, name: str) -> None:
        """Takes every address off a link."""
        ...

    def delete_route(self, netns: str | None, dst: str) -> None:
        """Removes every route to that destination."""
        ...

    def set_down(self, netns: str | None, name: str) -> None:
        """Takes a link down; a kernel drops the routes through it."""
        ...

    def set_mac(self, netns: str | None, name: str, mac: str) -> None:
        """Gives a link another hardware address."""
        ...

    def add_link(self, netns: str | None, name: str) -> None:
        """Adds a link that is nobody's: a stranger in a plugin's way, or a parent for macvlan."""
        ...

    def add_pair(self, netns: str, name: str, outside: str) -> None:
        """Adds a veth pair, both ends up: `name` in the namespace, `outside` on the host's side."""
        ...

    def add_address(self, netns: str | None, name: str, address: str) -> None:
        """Puts an address, CIDR text with host bits, on a link; its network's route comes too."""
        ...

    def add_route(self, netns: str | None, dst: str, gw: str) -> None:
        """Adds a route by way of a gateway that can be reached already."""
        ...

    def supports(self, kind: str) -> bool:
        """Whether links of that kind ("veth", "bridge", "macvlan", ...) can be made here."""
        ...


def tree(*paths: str | os.PathLike[str]) -> dict[str, str]:
    """Every file at and below the paths with kind, mode, size and a digest of its content (not its
    times: a file rewritten with the same bytes did not change). A missing path has no entry."""
    files: dict[str, str] = {}
    for path in map(Path, paths):
        for place in (path, *sorted(path.rglob("*"))):
            text = _file(place)
            if text:
                files[str(place)] = text
    return files


def _file(path: Path) -> str:
    try:
        about = path.lstat()
        mode = f"{stat.S_IMODE(about.st_mode):04o}"
        if stat.S_ISLNK(about.st_mode):
            return f"symlink to {os.readlink(path)}"
        if stat.S_ISDIR(about.st_mode):
            return f"directory {mode}"
        if not stat.S_ISREG(about.st_mode):
            return f"special file {mode}"
        data = path.read_bytes()
    except FileNotFoundError:  # gone since it was listed
        return ""
    except PermissionError:
        return f"unreadable {mode}"
    return f"file {mode}, {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}"


def _called(name: str) -> str:
    return "on the host" if name == HOST else f"in {name}"


def _namespace_difference(
    where: str, was: NamespaceView | None, now: NamespaceView | None
) -> list[str]:
    if was is None or now is None:
        return [f"{where}: namespace {'appeared' if was is None else 'gone'}"]
    return [
        *_changes(where, "link ", dict(was.links), dict(now.links)),
        *_members(where, "route", was.routes, now.routes),
        *_members(where, "rule", was.rules, now.rules),
    ]


def _changes(
    where: str, what: str, was: Mapping[str, object], now: Mapping[str, object]
) -> list[str]:
    head = f"{where}: {what}" if where else what
    changes = [f"{head}{name} gone" for name in sorted(set(was) - set(now))]
    changes += [f"{head}{name} appeared: {now[name]}" for name in sorted(set(now) - set(was))]
    for name in sorted(set(was) & set(now)):
        if was[name] != now[name]:
            changes.append(f"{head}{name} changed from {was[name]} to {now[name]}")
    return changes


def _members(where: str, what: str, was: tuple[object, ...], now: tuple[object, ...]) -> list[str]:
    head = f"{where}: {what}" if where else what
    lost = [item for item in was if was.count(item) > now.count(item)]
    new = [item for item in now if now.count(item) > was.count(item)]
    return [f"{head} gone: {item}" for item in dict.fromkeys(lost)] + [
        f"{head} appeared: {item}" for item in dict.fromkeys(new)
    ]
