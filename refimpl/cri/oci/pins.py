"""Network namespaces at paths, as CNI plugins and OCI runtimes take them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from refimpl.cni.host import changes, syscalls

__all__ = ["pin", "unpin"]

_BIND = 0x1000  # MS_BIND


def pin(path: Path) -> None:
    """Makes a namespace, its loopback up, and binds it to a file. Raises OSError, and has left
    nothing then."""
    path.touch(mode=0o600)
    try:
        _in_thread(lambda: _make(str(path)))
    except BaseException:
        unpin(path)
        raise


def unpin(path: Path) -> None:
    """The namespace ends with its last process. Nothing where it is not there."""
    with suppress(OSError):
        syscalls.umount(str(path))
    with suppress(FileNotFoundError):
        path.unlink()


def _make(path: str) -> None:
    """For a thread of its own, which ends in there."""
    syscalls.unshare(syscalls.NEWNET)
    changes.bring_up("lo")
    syscalls.mount(f"/proc/self/task/{threading.get_native_id()}/ns/net", path, flags=_BIND)


def _in_thread(work: Callable[[], object]) -> None:
    troubles: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # handed to the thread that waits
            troubles.append(error)

    thread = threading.Thread(target=run, name="refimpl-namespace")
    thread.start()
    thread.join()
    for trouble in troubles:
        raise trouble
