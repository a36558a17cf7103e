"""Network namespaces as a runtime sees them: is the path still one, is it our own, raise lo."""

from __future__ import annotations

import fcntl
import os
import threading
from typing import Final

from refimpl.cni.host import changes, syscalls

__all__ = ["is_own", "raise_loopback", "usable"]

_NS_GET_NSTYPE: Final = 0xB703  # linux/nsfs.h

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
        return fcntl.ioctl(number, _NS_GET_NSTYPE) == syscalls.NEWNET
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
            _raise_inside(path)
        except OSError as error:
            troubles.append(error)

    thread = threading.Thread(target=work, name="loopback")
    thread.start()
    thread.join()
    for trouble in troubles:
        raise trouble


def _raise_inside(path: str) -> None:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.setns(number, syscalls.NEWNET)
    finally:
        os.close(number)
    changes.bring_up("lo")
