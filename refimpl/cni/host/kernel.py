"""The kernel as a host: real namespaces, links and rules, read and changed through rtnetlink.

Belongs inside a sandbox (`sandbox.enter`), whose network namespace is the host's side. Works in the
calling thread: another namespace is read by stepping into it for the moment and opening the socket
there, so no process is started and nothing stays open that would keep a namespace alive.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import itertools
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from refimpl.cni.host import netlink, syscalls
from refimpl.cni.host.firewall import Firewall
from refimpl.cni.host.kinds import makes
from refimpl.cni.host.views import HOST, HostError, Link, NamespaceView, RouteView, Snapshot, tree

__all__ = ["Kernel"]

_NAMED: Final = Path("/run/netns")
_BIND: Final = 0x1000


class Kernel:
    """A `Host` made of the kernel. `close` lets go of the one namespace it holds open itself."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._supported: dict[str, bool] = {}
        self._firewall = Firewall()
        self._attic: int | None = None
        self._let_go: Callable[[], object] | None = None

    def close(self) -> None:
        """Lets go of the far ends of added links; those links end with that."""
        if self._let_go is not None:
            self._let_go()
        self._attic = self._let_go = None

    def make_netns(self, name: str = "") -> str:
        """A namespace bound to a file in /run/netns, loopback up, as runtimes make them."""
        _NAMED.mkdir(mode=0o755, exist_ok=True)
        path = _NAMED / (name or f"cni-{os.getpid()}-{next(self._numbers)}")
        try:
            path.touch(mode=0o444, exist_ok=False)
        except FileExistsError:
            raise HostError(f"namespace {path} exists already: choose another name") from None
        with syscalls.inside(None):
            syscalls.bring_up("lo")
            syscalls.mount("/proc/thread-self/ns/net", str(path), flags=_BIND)
        return str(path)

    def remove_netns(self, path: str) -> None:
        """Ends a namespace. Its links go first: the kernel would take them later, at its leisure,
        and the ends of pairs that are left on the host's side with them."""
        if not _is_namespace(path) or os.path.islink(path):  # a process's own, seen through /proc
            return
        with _opened(path) as route:
            for message in route.get_links():
                if message["index"] != 1:  # the loopback, which stays
                    _if_there(functools.partial(route.link, "del", index=message["index"]))
        self._firewall.forget()
        syscalls.umount(path)
        os.unlink(path)

    def own_netns(self) -> str:
        """The calling thread's namespace, by a path that a plugin's process understands too."""
        return f"{syscalls.task()}/ns/net"

    def links(self, netns: str | None = None) -> dict[str, Link]:
        """The links by name; the peer of a pair is found in every namespace known here."""
        return dict(self._view(netns).links)

    def routes(self, netns: str | None = None) -> tuple[RouteView, ...]:
        """The routes of all tables but the local one."""
        return _read(netns).view.routes

    def snapshot(self, *paths: str | os.PathLike[str]) -> Snapshot:
        """The host's side, every namespace in /run/netns, packet filters, /run/netns, the paths."""
        places = [None, *(str(path) for path in _namespaces())]
        readings, firewall = {}, list[str]()
        for place in places:
            with _at(place):
                readings[place or HOST] = netlink.read()
                where = f"in {place}: " if place else ""
                firewall += [f"{where}{line}" for line in self._firewall.lines()]
        files = {**_files(_NAMED), **tree(*paths)}
        return Snapshot(netlink.paired(readings), tuple(firewall), files)

    def delete_link(self, netns: str | None, name: str) -> None:
        """Removes a link and with it the other end of a pair."""
        self._change(netns, name, lambda route, index: route.link("del", index=index))

    def flush_addresses(self, netns: str | None, name: str) -> None:
        """Takes every address off a link; routes through it that depend on one go too."""
        self._change(netns, name, lambda route, index: route.flush_addr(index=index))

    def set_down(self, netns: str | None, name: str) -> None:
        """Takes a link down; the kernel drops the routes through it."""
        self._change(netns, name, lambda route, index: route.link("set", index=index, state="down"))

    def set_mac(self, netns: str | None, name: str, mac: str) -> None:
        """Gives a link another hardware address."""
        self._change(netns, name, lambda route, index: route.link("set", index=index, address=mac))

    def delete_route(self, netns: str | None, dst: str) -> None:
        """Removes every route to a destination, in all tables."""
        wanted = str(ipaddress.ip_network(dst, strict=False))
        with _opened(netns) as route:
            names = {link.get("ifname"): link["index"] for link in route.get_links()}
            found = [one for one in netlink.read().view.routes if one.dst == wanted]
            for one in found:
                with _told(f"deleting the route to {wanted} {_in(netns)}"):
                    _if_there(functools.partial(route.route, "del", **_route(one, names)))
        if not found:
            raise HostError(f"no route to {wanted} {_in(netns)}: nothing to delete")

    def add_link(self, netns: str | None, name: str) -> None:
        """Adds one end of a veth pair, up and with a carrier, so that it serves as a parent too.
        The other end is out of sight, in a namespace that only this object holds."""
        attic, other = self._opened_attic(), f"far{next(self._numbers)}"
        _pair(netns, name, attic, other)

    def add_pair(self, netns: str, name: str, outside: str) -> None:
        """As a bridge plugin does, but for the bridge."""
        here = syscalls.here("net")
        try:
            _pair(netns, name, here, outside)
        finally:
            os.close(here)

    def add_address(self, netns: str | None, name: str, address: str) -> None:
        """The kernel makes the route to the address's network where the link is up."""

        def add(route: Any, index: int) -> None:
            route.addr("add", index=index, address=address)

        self._change(netns, name, add)

    def add_route(self, netns: str | None, dst: str, gw: str) -> None:
        """In the main table; the link is that of the gateway's network."""
        with _opened(netns) as route, _told(f"adding a route to {dst} by {gw} {_in(netns)}"):
            route.route("add", dst=dst, gateway=gw)

    def supports(self, kind: str) -> bool:
        """Whether the kernel makes links of a kind, found once by making one out of sight."""
        if kind not in self._supported:
            self._supported[kind] = makes(kind)
        return self._supported[kind]

    def _opened_attic(self) -> int:
        if self._attic is None:
            with syscalls.inside(None):
                self._attic = syscalls.here("net")
            self._let_go = weakref.finalize(self, os.close, self._attic)
        return self._attic

    def _view(self, netns: str | None) -> NamespaceView:
        place = netns or HOST
        readings = {place: _read(netns)}
        if any(not readings[place].view.links[name].peer for name in readings[place].ends):
            for other in (None, *(str(path) for path in _namespaces())):
                if not _same(netns, other):
                    readings[other or HOST] = _read(other)
        return netlink.paired(readings)[place]

    def _change(self, netns: str | None, name: str, act: Callable[[Any, int], object]) -> None:
        with _opened(netns) as route:
            found = route.link_lookup(ifname=name)
            if not found:
                there = ", ".join(sorted(link.get("ifname") for link in route.get_links()))
                raise HostError(f"no link {name} {_in(netns)}: there are {there}")
            with _told(f"changing link {name} {_in(netns)}"):
                act(route, found[0])


def _in(netns: str | None) -> str:
    return f"in {netns}" if netns else "on the host"


def _pair(netns: str | None, name: str, far: int, other: str) -> None:
    """A veth pair from a namespace to the one behind an open file, both ends up."""
    with _opened(netns) as route, _told(f"adding link {name} {_in(netns)}"):
        peer = {"ifname": other, "net_ns_fd": far}
        route.link("add", ifname=name, kind="veth", peer=peer)
        route.link("set", ifname=name, state="up")
    with syscalls.inside(far):
        syscalls.bring_up(other)


def _route(one: RouteView, names: dict[str, int]) -> dict[str, Any]:
    wanted = {"gateway": one.gw, "oif": names.get(one.dev), "priority": one.priority}
    given = {key: value for key, value in wanted.items() if value}
    kinds = {"blackhole", "unreachable", "prohibit"}
    kind = {"type": one.dev} if one.dev in kinds and one.dev not in names else {}
    return {"dst": one.dst, "table": one.table or 254, "scope": one.scope, **given, **kind}


@contextlib.contextmanager
def _at(netns: str | None) -> Iterator[None]:
    """The calling thread in a namespace, for the moment; None is where it is. Raises HostError."""
    with contextlib.ExitStack() as stack:
        if netns is not None:
            try:
                opened = os.open(netns, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            except OSError as error:
                raise HostError(f"no namespace at {netns}: {error.strerror}") from None
            stack.callback(os.close, opened)
            try:
                stack.enter_context(syscalls.inside(opened))
            except OSError as error:
                raise HostError(f"{netns} is no network namespace: {error.strerror}") from None
        yield


@contextlib.contextmanager
def _opened(netns: str | None) -> Iterator[Any]:
    """An IPRoute in a namespace, and the calling thread there with it. Raises HostError."""
    # Late: it takes a seventh of a second, and only who changes something needs it.
    from pyroute2 import IPRoute

    with _at(netns), IPRoute() as route:
        yield route


def _read(netns: str | None) -> netlink.Reading:
    with _at(netns):
        return netlink.read()


@contextlib.contextmanager
def _told(asked: str) -> Iterator[None]:
    from pyroute2 import NetlinkError

    try:
        yield
    except NetlinkError as error:
        raise HostError(f"{asked}: the kernel answers {os.strerror(error.code)}") from error


def _if_there(act: Callable[[], object]) -> None:
    """Both ends of a pair, and the routes of one link, go together: the second is gone already."""
    from pyroute2 import NetlinkError

    try:
        act()
    except NetlinkError as error:
        if error.code not in (3, 19):  # ESRCH for a route, ENODEV for a link
            raise


def _is_namespace(path: str | os.PathLike[str]) -> bool:
    try:
        return os.stat(path).st_dev == os.stat("/proc/thread-self/ns/net").st_dev
    except OSError:  # missing, or a symlink to nowhere
        return False


def _same(one: str | None, other: str | None) -> bool:
    def number(path: str | None) -> int:
        return os.stat(path or "/proc/thread-self/ns/net").st_ino

    return one == other or number(one) == number(other)


def _namespaces() -> list[Path]:
    return sorted(filter(_is_namespace, _NAMED.iterdir())) if _NAMED.is_dir() else []


def _files(folder: Path) -> dict[str, str]:
    """A directory of namespaces: which file is one (they cannot be read), the rest as it is."""
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    found = {str(path): "network namespace" for path in names if _is_namespace(path)}
    return found | tree(*(path for path in names if str(path) not in found))
