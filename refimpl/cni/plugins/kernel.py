"""A kernel in a file: namespaces with their links, addresses, routes and rules, as JSON.

Plugins of many processes change it under one lock and replace it as a whole, so that who reads
without the lock sees some whole moment. A namespace's path is a file that holds the token under
which the namespace is registered here; a path to a real namespace (nsfs) is taken too, and what is
done "in" it is only noted down under that path.
"""

from __future__ import annotations

import os

from refimpl.cni.format import files
from refimpl.cni.format.errors import IO, CniError
from refimpl.cni.plugins.json import dumps, parse_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]
    Namespace = dict[str, Any]

__all__ = ["HOST", "Change", "empty", "is_own", "namespace", "new_namespace", "read", "state_of"]

HOST = "host"
OWN = "/proc/self/ns/net"
# Neither through a link nor waiting for the other end of a pipe.
_SAFE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_NS_GET_NSTYPE, _CLONE_NEWNET = 0xB703, 0x40000000  # linux/nsfs.h, linux/sched.h


def loopback() -> dict[str, Any]:
    """The link that every namespace is born with."""
    return {
        "kind": "loopback",
        "mac": "00:00:00:00:00:00",
        "mtu": 65536,
        "up": False,
        "addresses": [],
        "master": "",
        "peer": "",
    }


def new_namespace(token: str = "") -> Namespace:
    """A namespace as the kernel makes it; `token` is what its file holds."""
    return {"token": token, "links": {"lo": loopback()}, "routes": [], "rules": []}


def empty(own: str = "") -> State:
    """A machine that has only just started."""
    return {"own": own, "namespaces": {HOST: new_namespace()}}


def read(path: str) -> State:
    """The state as it is; a missing file is an empty machine. Raises CniError (I/O)."""
    try:
        return parse_object(files.content(path))
    except FileNotFoundError:
        return empty()
    except (OSError, ValueError) as error:
        raise CniError(IO, f"the kernel file {path} cannot be read: {error}") from None


class Change:
    """`with Change(path) as state:` holds the lock; what became of the state is written at the end
    unless an exception passes or nothing changed."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> State:
        import fcntl

        try:
            self._lock = os.open(self.path + ".lock", os.O_RDWR | os.O_CREAT | _SAFE, 0o600)
        except OSError as error:
            raise CniError(IO, f"the kernel file {self.path} cannot be locked: {error}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self._state = read(self.path)
            self._was = dumps(self._state)
        except BaseException:
            os.close(self._lock)
            raise
        return self._state

    def __exit__(self, kind: object, *rest: object) -> None:
        try:
            if kind is None and (data := dumps(self._state)) != self._was:
                self._replace(data)
        finally:
            os.close(self._lock)

    def _replace(self, data: bytes) -> None:
        name = self.path + ".new"
        try:
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _SAFE, 0o600)
            with open(file, "wb") as out:
                out.write(data)
            os.rename(name, self.path)
        except OSError as error:
            raise CniError(IO, f"the kernel file {self.path} cannot be written: {error}") from None


def is_own(state: State, path: str) -> bool:
    """Whether a path leads to the namespace that plugins run in: the real or the simulated one."""
    here = identity(path)
    own = {identity(OWN), identity(state.get("own", ""))} - {None}
    return here is not None and here in own


def state_of(state: State, path: str) -> str:
    """What a path is: "simulated", "real", "missing" or "not a namespace"."""
    if identity(path) is None:
        return "missing"
    if is_nsfs(path):
        return "real"
    entry = state["namespaces"].get(path)
    token = content(path)
    if token and (entry or {}).get("token") == token:
        return "simulated"
    # Another path (a link) to a namespace that is registered under its own.
    known = token and any(each.get("token") == token for each in state["namespaces"].values())
    return "simulated" if known else "not a namespace"


def namespace(state: State, path: str) -> Namespace | None:
    """The namespace behind a path, "" or HOST for the host's side. None when there is none."""
    spaces: dict[str, Namespace] = state["namespaces"]
    if path in ("", HOST) or is_own(state, path):
        return spaces.setdefault(HOST, new_namespace())
    kind = state_of(state, path)
    if kind == "real":
        return _real(spaces, path)
    token = content(path) if kind == "simulated" else ""
    return next((each for each in spaces.values() if token and each.get("token") == token), None)


def _real(spaces: dict[str, Namespace], path: str) -> Namespace:
    number = str(identity(path))
    if spaces.get(path, {}).get("token") != number:  # new, or another namespace at the old path
        spaces[path] = new_namespace(number)
    return spaces[path]


def identity(path: str) -> tuple[int, int] | None:
    """Device and inode that a path leads to; None when it leads nowhere."""
    try:
        about = os.stat(path) if path else None
    except (OSError, ValueError):
        return None
    return about and (about.st_dev, about.st_ino)


def is_nsfs(path: str) -> bool:
    """Whether a path is a real network namespace."""
    own, here = identity(OWN), identity(path)
    if own is None or here is None or own[0] != here[0]:
        return False
    import fcntl

    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return fcntl.ioctl(file, _NS_GET_NSTYPE) == _CLONE_NEWNET
    except OSError:
        return False
    finally:
        os.close(file)


def content(path: str) -> str:
    """The token in a simulated namespace's file, "" for any other file."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as file:
            text = file.read(200)
    except OSError:
        return ""
    head, _, token = text.partition(b" ")
    return token.strip().decode(errors="replace") if head == b"netns" else ""


def remove_link(state: State, space: Namespace, name: str) -> None:
    """Removes a link with its routes, and the other end of its pair in whatever namespace."""
    link = space["links"].pop(name, None)
    if link is None:
        return
    space["routes"] = [route for route in space["routes"] if route["dev"] != name]
    pair = link.get("pair")
    for other in state["namespaces"].values() if pair else ():
        for end in [key for key, each in other["links"].items() if each.get("pair") == pair]:
            remove_link(state, other, end)
