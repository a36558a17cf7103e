"""The kubelet processes of a node, one after another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from refimpl.deviceplugin.devicemanager.layout import Layout
from refimpl.deviceplugin.devicemanager.node import NodeRecord
from refimpl.deviceplugin.devicemanager.process import KubeletProcess
from refimpl.deviceplugin.devicemanager.setup import Setup
from refimpl.deviceplugin.state.allocate import Died

__all__ = ["KubeletProcesses"]


class KubeletProcesses:
    """At most one of them runs, the `current` one. All have the layout, the setup and the node."""

    def __init__(self, layout: Layout, setup: Setup, node: NodeRecord) -> None:
        self.layout, self.setup, self.node = layout, setup, node
        self.current: KubeletProcess | None = None

    def living(self) -> KubeletProcess:
        """The one that runs; RuntimeError while none does."""
        if self.current is None:
            raise RuntimeError("no kubelet runs; call start() or use it in a with block")
        return self.current

    def make(self) -> KubeletProcess:
        """Another one, which does not run yet."""
        return KubeletProcess(self.layout, self.setup, self.node)

    def begin(self, *, unlink: bool = True, gap_s: float = 0.0, accepting: bool = True) -> None:
        """Starts the next one as `KubeletProcess.begin` does; raises EndpointError."""
        process = self.make()
        process.begin(unlink=unlink, gap_s=gap_s, accepting=accepting)
        self.current = process

    def end(self) -> None:
        """Ends the one that runs; nothing where none does."""
        process, self.current = self.current, None
        if process is not None:
            process.end()

    @contextlib.contextmanager
    def mortal(self) -> Iterator[None]:
        """Where a profile says that kubelet dies of what is done inside, it does: raises Died."""
        try:
            yield
        except Died:
            self.end()
            raise
