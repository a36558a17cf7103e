"""Namespaces of our own around real plugins, so that nothing they do reaches the machine.

    with sandbox.enter():
        ...                # links, routes, packet filter and /run/netns belong to this thread alone

Root unshares network and mounts for the calling thread and can come back. Anyone else unshares the
user namespace too (user_namespaces(7)), is uid 0 inside, and stays until the process ends. Nothing
has to be cleaned up: the namespaces hold everything and end with their last process, however it
dies. Threads and processes started inside are inside; threads that ran before are not.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

from refimpl.cni.host import changes, syscalls
from refimpl.cni.host.views import HostError

__all__ = ["Sandbox", "SandboxError", "enter", "why_not"]

_COVERED: Final = {
    "/run": ("netns", "cni", "xtables.lock"),
    "/var/lib": ("cni",),
}
"""Directories of state that plugins write to, and what of the machine's own is not seen inside."""

_OUTSIDE: Final = ".outside"
_ADMIN: Final = (12, 21)  # CAP_NET_ADMIN, CAP_SYS_ADMIN
_RECURSIVE, _SLAVE = 0x4000, 0x80000
_SWITCHES: Final = {
    "/proc/sys/user/max_user_namespaces": "0",
    "/proc/sys/user/max_net_namespaces": "0",
    "/proc/sys/kernel/unprivileged_userns_clone": "0",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
}
"""Settings, and the value with which they forbid what is done here."""


class SandboxError(HostError):
    """The sandbox could not be made or left; the text says why and what would help."""


class Sandbox:
    """The namespaces one thread entered. A context manager; leaving twice is fine."""

    def __init__(self, stays: bool) -> None:
        self.stays = stays
        """True without root: the way back is closed, and `leave` leaves things as they are."""
        self._thread = threading.get_native_id()
        self._way_back: tuple[int, ...] = () if stays else tuple(_opened_places())

    def leave(self) -> None:
        """Takes the thread back to where it came from; what was made inside is gone with that, or
        with the last thread and process that was started inside.

        Raises SandboxError in a thread that is not the one that entered.
        """
        if not self._way_back:
            return
        if threading.get_native_id() != self._thread:
            raise SandboxError(
                "a sandbox can only be left by the thread that entered it: call leave() there"
            )
        net, mounts, root, folder = self._way_back
        self._way_back = ()
        with _closing(net, mounts, root, folder):
            # Threads started inside share the working directory with this one, and the kernel lets
            # no thread that shares it change mount namespaces.
            syscalls.unshare(syscalls.FS)
            syscalls.setns(mounts, syscalls.NEWNS)
            # Joining a mount namespace moves root and working directory to its top.
            os.fchdir(root)
            os.chroot(".")
            os.fchdir(folder)
            syscalls.setns(net, syscalls.NEWNET)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.leave()


def enter() -> Sandbox:
    """Puts the calling thread (without root: this single-threaded process) into namespaces of its
    own. May be entered again inside. Raises SandboxError with the text of `why_not`."""
    if not _privileged():
        reason = why_not()
        if reason:
            raise SandboxError(reason)
        _make_as_user()
        return Sandbox(stays=True)
    sandbox = Sandbox(stays=False)
    try:
        _make()
    except OSError as error:
        sandbox.leave()
        raise SandboxError(_sentence(error)) from error
    return sandbox


def why_not() -> str:
    """A sentence that says why `enter` is impossible here, "" when it is possible.

    Found by trying, in a thread or process that ends with it.
    """
    if _privileged():
        return _tried_in_thread()
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return (
            f"this process runs as uid {os.geteuid()} and has {threads} threads: without root a"
            " user namespace can only be made by a process with one thread; enter before others"
            " start, or run as root"
        )
    return _tried_in_child()


def _privileged() -> bool:
    return all(map(syscalls.has_capability, _ADMIN))


def _make() -> None:
    syscalls.unshare(syscalls.NEWNS | syscalls.NEWNET)
    # Slave, not private: nothing gets out, and an unmount outside is not held up by us.
    syscalls.mount("", "/", flags=_RECURSIVE | _SLAVE)
    for folder, hidden in _COVERED.items():
        if os.path.isdir(folder):
            _cover(folder, hidden)
    os.mkdir("/run/netns", 0o755)
    changes.bring_up("lo")


def _make_as_user() -> None:
    uid, gid = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.NEWUSER)
    # user_namespaces(7): without setgroups denied, the kernel refuses an unprivileged gid_map.
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        Path("/proc/self", name).write_text(text, encoding="utf-8")
    _make()


def _cover(folder: str, hidden: tuple[str, ...]) -> None:
    """Lays an empty tmpfs over a directory; what was there is reachable through symlinks, so that
    sockets and state of others work on while new entries stay inside."""
    outside = syscalls.open_tree(folder)
    with _closing(outside):
        syscalls.mount("tmpfs", folder, kind="tmpfs", options="mode=0755")
        os.mkdir(f"{folder}/{_OUTSIDE}")
        syscalls.place_tree(outside, f"{folder}/{_OUTSIDE}")
    for name in os.listdir(f"{folder}/{_OUTSIDE}"):
        if name not in (*hidden, _OUTSIDE):
            # Relative: a sandbox within a sandbox covers the same directory once more.
            os.symlink(f"{_OUTSIDE}/{name}", f"{folder}/{name}")


def _tried_in_thread() -> str:
    reasons: list[str] = []
    trial = threading.Thread(target=lambda: reasons.append(_tried(_make)), name="sandbox trial")
    trial.start()
    trial.join()
    return "".join(reasons)


def _tried_in_child() -> str:
    """Forks: only a process that ends can try a user namespace without keeping it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, _tried(_make_as_user).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as answers:
        reason = answers.read()
    os.waitpid(child, 0)
    return reason


def _tried(make: Callable[[], None]) -> str:
    try:
        make()
    except OSError as error:
        return _sentence(error)
    return ""


def _sentence(error: OSError) -> str:
    what = error.strerror if error.filename is None else f"{error.strerror}: {error.filename}"
    switches = [
        f"{path} is {forbids}: ask for another value"
        for path, forbids in _SWITCHES.items()
        if _content(path) == forbids
    ]
    hint = "; ".join(switches) or "a container's seccomp profile or lack of capabilities forbids it"
    return f"no sandbox for uid {os.geteuid()}: {what} ({hint}; or run as root of the machine)"


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:  # this kernel has no such switch
        return ""


def _opened_places() -> Iterator[int]:
    yield syscalls.here("net")
    yield syscalls.here("mnt")
    for path in ("/", "."):
        yield os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


@contextlib.contextmanager
def _closing(*files: int) -> Iterator[None]:
    try:
        yield
    finally:
        for file in files:
            os.close(file)
