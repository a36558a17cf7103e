"""Network namespaces as a runtime sees them: is the path still one, is it our own, raise lo."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import threading
from typing import Final

__all__ = ["is_own", "raise_loopback", "usable"]

_NEWNET: Final = 0x40000000
_NS_GET_NSTYPE: Final = 0xB703  # linux/nsfs.h
_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914  # linux/sockios.h
_UP: Final = 1
_libc = ctypes.CDLL(None, use_errno=True)

# Where namespaces are kept: a plain file there is what is left of one.
_PLACES: Final = ("/run/netns/", "/var/run/netns/", "/proc/")


def usable(path: str) -> bool:
    """Whether a plugin can be given the path: a namespace, or a file that may stand for one.

    A name that is no path (of a virtual machine, CNI 1.1 CNI_NETNS) is the plugin's business.
    """
    if not path.startswith("/"):
        return bool(path)
    if not os.path.exists(path):
        return False
    return is_network(path) or not path.startswith(_PLACES)


def is_network(path: str) -> bool:
    """Whether the path is a network namespace of this kernel."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return fcntl.ioctl(number, _NS_GET_NSTYPE) == _NEWNET
    except OSError:  # no namespace at all
        return False
    finally:
        os.close(number)


def is_own(path: str) -> bool:
    """Whether the path is the network namespace that this thread, and so a plugin, runs in."""
    try:
        return os.path.samefile(path, "/proc/thread-self/ns/net")
    except OSError:
        return False


def raise_loopback(path: str) -> None:
    """Sets the loopback of a namespace up, as CRI-O does; OSError. No-op for what is no namespace.

    A thread of its own enters the namespace and ends there: this thread never leaves its own.
    """
    if not is_network(path):
        return
    troubles: list[OSError] = []

    def work() -> None:
        try:
            _enter(path)
            _up()
        except OSError as error:
            troubles.append(error)

    thread = threading.Thread(target=work, name="loopback")
    thread.start()
    thread.join()
    for trouble in troubles:
        raise trouble


def _enter(path: str) -> None:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(number, _NEWNET) != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"cannot enter {path}: {os.strerror(code)}")
    finally:
        os.close(number)


def _up() -> None:
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as door:
        # struct ifreq: 16 bytes of name, then the flags.
        asked = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack("16sh22x", fcntl.ioctl(door, _GET_FLAGS, asked))[1]
        fcntl.ioctl(door, _SET_FLAGS, struct.pack("16sh22x", b"lo", flags | _UP))
