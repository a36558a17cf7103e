"""Network namespaces for runtimes that are given one: real where they can be had, else files."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from refimpl.cni.host import sandbox
from refimpl.cni.runtime import namespaces

if TYPE_CHECKING:
    from refimpl.cni.host.kernel import Kernel


class Namespaces:
    """Files below a folder until `enter` has put this thread into a sandbox; real ones after it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, itertools.count(1)
        self._kernel: Kernel | None = None
        self._sandbox: sandbox.Sandbox | None = None
        self._why_not: str | None = None

    @property
    def why_not(self) -> str:
        """Why there can be no real ones, "" where there can."""
        if self._why_not is None:
            self._why_not = sandbox.why_not()
        return self._why_not

    def enter(self) -> None:
        """From now on real ones; raises SandboxError."""
        from refimpl.cni.host.kernel import Kernel

        if self._kernel is None:
            self._sandbox = sandbox.enter()
            self._kernel = Kernel()

    def make(self) -> str:
        """The path of a new one."""
        if self._kernel:
            path = self._kernel.make_netns()
            self._kernel.set_down(path, "lo")  # raising it is the runtime's part
            return path
        self._folder.mkdir(exist_ok=True)
        file = self._folder / f"n{next(self._numbers)}"
        file.touch()
        return str(file)

    def remove(self, path: str) -> None:
        """Takes one away, or what is left in its place."""
        if self._kernel and namespaces.is_network(path):
            self._kernel.remove_netns(path)
        with contextlib.suppress(FileNotFoundError):
            Path(path).unlink()

    def lose(self, path: str, *, leave: str) -> None:
        """Takes the namespace away behind the runtime; leave "file" puts a plain file there."""
        self.remove(path)
        if leave == "file":
            Path(path).touch()

    def raise_loopback(self, path: str) -> None:
        """Sets its loopback up; nothing for a file."""
        namespaces.raise_loopback(path)

    def close(self) -> None:
        """Leaves the sandbox: with it go all that were made."""
        if self._kernel:
            self._kernel.close()
        if self._sandbox:
            self._sandbox.leave()


def is_up(netns: str, name: str) -> bool:
    """Whether a link of that namespace is up."""
    from refimpl.cni.host.kernel import Kernel

    kernel = Kernel()
    try:
        link = kernel.links(netns).get(name)
    finally:
        kernel.close()
    return link is not None and link.up
