"""The kernel as a host: real namespaces, links and rules, read and changed through netlink.

Belongs inside a sandbox (`sandbox.enter`), whose network namespace is the host's side. Works in the
calling thread: another namespace is read or changed by stepping into it for the moment, so no
process is started and nothing stays open that would keep a namespace alive.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import itertools
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from refimpl.cni.host import changes, readings, syscalls
from refimpl.cni.host.firewall import Firewall
from refimpl.cni.host.kinds import makes
from refimpl.cni.host.netlink import IFLA, Kind, dump
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
            changes.bring_up("lo")
            syscalls.mount("/proc/thread-self/ns/net", str(path), flags=_BIND)
        return str(path)

    def remove_netns(self, path: str) -> None:
        """Ends a namespace. Its links go first: the kernel would take them later, at its leisure,
        and the ends of pairs that are left on the host's side with them."""
        if not _is_namespace(path) or os.path.islink(path):  # a process's own, seen through /proc
            return
        with _at(path):
            for index in _indexes().values():
                if index != 1:  # the loopback, which stays
                    _delete_link(index)
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
        by_place, firewall = {}, list[str]()
        for place in places:
            with _at(place):
                by_place[place or HOST] = readings.read()
                where = f"in {place}: " if place else ""
                firewall += [f"{where}{line}" for line in self._firewall.lines()]
        files = {**_files(_NAMED), **tree(*paths)}
        return Snapshot(readings.paired(by_place), tuple(firewall), files)

    def delete_link(self, netns: str | None, name: str) -> None:
        """Removes a link and with it the other end of a pair."""
        self._change(netns, name, changes.delete_link)

    def flush_addresses(self, netns: str | None, name: str) -> None:
        """Takes every address off a link; routes through it that depend on one go too."""
        self._change(netns, name, changes.flush_addresses)

    def set_down(self, netns: str | None, name: str) -> None:
        """Takes a link down; the kernel drops the routes through it."""
        self._change(netns, name, changes.set_down)

    def set_mac(self, netns: str | None, name: str, mac: str) -> None:
        """Gives a link another hardware address."""
        self._change(netns, name, lambda index: changes.set_mac(index, mac))

    def delete_route(self, netns: str | None, dst: str) -> None:
        """Removes every route to a destination, in all tables."""
        wanted = str(ipaddress.ip_network(dst, strict=False))
        with _at(netns):
            indexes = _indexes()
            routes = [route for route in readings.read().view.routes if route.dst == wanted]
            for route in routes:
                with _refusals(f"deleting the route to {wanted} {_in(netns)}"):
                    changes.delete_route(route, indexes)
        if not routes:
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
        self._change(netns, name, lambda index: changes.add_address(index, address))

    def add_route(self, netns: str | None, dst: str, gw: str) -> None:
        """In the main table; the link is that of the gateway's network."""
        with _at(netns), _refusals(f"adding a route to {dst} by {gw} {_in(netns)}"):
            changes.add_route(dst, gw)

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
        by_place = {place: _read(netns)}
        if any(not by_place[place].view.links[name].peer for name in by_place[place].ends):
            for other in (None, *(str(path) for path in _namespaces())):
                if not _same(netns, other):
                    by_place[other or HOST] = _read(other)
        return readings.paired(by_place)[place]

    def _change(self, netns: str | None, name: str, act: Callable[[int], None]) -> None:
        with _at(netns):
            indexes = _indexes()
            if name not in indexes:
                there = ", ".join(sorted(indexes))
                raise HostError(f"no link {name} {_in(netns)}: there are {there}")
            with _refusals(f"changing link {name} {_in(netns)}"):
                act(indexes[name])


def _in(netns: str | None) -> str:
    return f"in {netns}" if netns else "on the host"


def _pair(netns: str | None, name: str, far: int, other: str) -> None:
    """A veth pair from a namespace to the one behind an open file, both ends up."""
    with _at(netns), _refusals(f"adding link {name} {_in(netns)}"):
        changes.add_pair(name, other, far)
        changes.bring_up(name)
    with syscalls.inside(far):
        changes.bring_up(other)


def _indexes() -> dict[str, int]:
    """The numbers of the links here, by name."""
    return {link.text(IFLA.IFNAME): link.fixed[2] for link in dump(Kind.LINKS)}


def _delete_link(index: int) -> None:
    """Both ends of a pair go together: the second is gone already."""
    try:
        changes.delete_link(index)
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise


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


def _read(netns: str | None) -> readings.Reading:
    with _at(netns):
        return readings.read()


@contextlib.contextmanager
def _refusals(attempt: str) -> Iterator[None]:
    """What the kernel refuses becomes a HostError that says what was asked."""
    try:
        yield
    except OSError as error:
        words = os.strerror(error.errno or 0)
        raise HostError(f"{attempt}: the kernel answers {words}") from error


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
    kinds = {str(path): "network namespace" for path in names if _is_namespace(path)}
    return kinds | tree(*(path for path in names if str(path) not in kinds))
