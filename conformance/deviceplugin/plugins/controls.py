"""What a case does to the plugin's process and to the kubelet before it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.deviceplugin.plugins.process import PluginProcess
from conformance.deviceplugin.plugins.session import Arrival, Life
from conformance.engine.verdict import eventually
from refimpl.deviceplugin.devicemanager.layout import KUBELET_SOCKET, Layout
from refimpl.deviceplugin.kubelet import FakeKubelet, RestartMode
from refimpl.wire.faults import Close, Hang, Status
from refimpl.wire.status import Code

if TYPE_CHECKING:
    from conformance.deviceplugin.plugins.target import PluginTarget

__all__ = ["Conduct"]


class Conduct:
    """Part of `plugin.Plugin`. `spoilt`: whoever comes next needs a new life."""

    def __init__(self, target: PluginTarget) -> None:
        self.target = target
        self.spoilt = False

    @property
    def life(self) -> Life:
        """Kubelet, folder and processes of now."""
        return self.target.life

    @property
    def kubelet(self) -> FakeKubelet:
        """The fake kubelet around the plugin."""
        return self.life.kubelet

    @property
    def layout(self) -> Layout:
        """Paths: `.plugins` (device-plugins), `.registry`, `.root`, `.socket` of kubelet."""
        return self.life.layout

    @property
    def folder(self) -> Path:
        """The device-plugins directory."""
        return self.layout.plugins

    def sockets(self) -> list[str]:
        """Names of all sockets in `folder` but kubelet's."""
        found = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted({path.name for path in found if path.is_socket()} - {KUBELET_SOCKET})

    @property
    def quiet_s(self) -> float:
        """How long a case watches that nothing happens; also a gap that a plugin should bear."""
        return self.target.quiet_s

    # -- the plugin's process -------------------------------------------------------------------

    @property
    def process(self) -> PluginProcess:
        """The plugin's process: `alive`, `status`, `fate`, `measures`, `freeze`, `thaw`."""
        assert self.life.main is not None
        return self.life.main

    def terminate(self, limit_s: float = 10.0) -> int | None:
        """SIGTERM; the exit status, -9 if it took longer."""
        self.spoilt = True
        return self.process.terminate(limit_s)

    def kill(self) -> None:
        """SIGKILL: sockets stay."""
        self.spoilt = True
        self.process.kill()

    def start_again(self, *, empty: bool = False) -> PluginProcess:
        """Another process in the place of the one that has ended. `empty`: on a node without
        devices (EMPTY)."""
        self.spoilt = True
        self.life.main = self.target.process(empty=empty)
        self.life.main.start()
        return self.life.main

    def another(self) -> PluginProcess:
        """A second instance beside the first, started; it ends with the case."""
        self.spoilt = True
        made = self.target.process()
        made.start()
        return made

    def may_exit(self) -> None:
        """A plugin that ends by itself in this case is judged by the case alone."""
        self.life.may_exit = True

    # -- lives ----------------------------------------------------------------------------------

    def fresh(self) -> None:
        """A new life: empty folder, kubelet listening, plugin started. Nothing is waited for."""
        self.cleared()
        self.start_kubelet()
        self.start_again()

    def cleared(self, *, root_length: int = 0) -> None:
        """A new life in which nothing runs yet: go on with `start_kubelet` and `start_again`.
        `root_length`: characters of the path of kubelet's folder."""
        self.spoilt = True
        self.target.renew(root_length)

    @contextlib.contextmanager
    def at_arrival(self, act: Callable[[Arrival], object]) -> Iterator[None]:
        """While inside, `act` is called with each Register while it is open, before kubelet looks
        at it; also of lives that begin inside."""
        self.target.at_arrival = self.life.at_arrival = act
        try:
            yield
        finally:
            self.target.at_arrival = self.life.at_arrival = None

    # -- kubelet's process ----------------------------------------------------------------------

    def start_kubelet(self, *, accepting: bool = True) -> None:
        """Kubelet starts: sockets in the folder go, kubelet.sock comes. Without `accepting`
        callers connect and hear nothing until `thaw_kubelet`."""
        self.spoilt = self.spoilt or not accepting
        self.life.start_kubelet(accepting=accepting)

    def thaw_kubelet(self) -> None:
        """It begins to accept."""
        self.kubelet.thaw()

    def stop_kubelet(self) -> None:
        """Kubelet ends, and leaves all sockets where they are."""
        self.life.kill_kubelet()

    def restart_kubelet(self, mode: RestartMode = "A", *, gap_s: float | None = None) -> None:
        """Kubelet ends and comes back, see `RestartMode`; the gaps are short ones of the suite."""
        self.life.keep_links()
        short = self.quiet_s / 2 if mode in "AB" else self.quiet_s / 10
        self.kubelet.restart(mode, gap_s=short if gap_s is None else gap_s)

    def drop(self) -> None:
        """Kubelet's stream breaks off; socket, folder and kubelet stay."""
        for link in self.kubelet.links:
            link.drop()

    # -- its answers to Register ----------------------------------------------------------------

    @contextlib.contextmanager
    def refusing(
        self,
        message: str = "refused",
        code: Code = Code.UNKNOWN,
        *,
        times: int | None = None,
        resource: str = "",
    ) -> Iterator[None]:
        """While inside, Register (of one resource) is refused; the first `times` only, if given."""
        self.target.rules.meet(Status(code, message), times=times, resource=resource)
        with self._ruled():
            yield

    @contextlib.contextmanager
    def hanging(self, *, times: int | None = None) -> Iterator[None]:
        """While inside, Register is not answered; afterwards it is, if the plugin still waits."""
        self.target.rules.meet(Hang(), times=times)
        with self._ruled():
            yield

    @contextlib.contextmanager
    def hanging_up(self, *, times: int | None = None) -> Iterator[None]:
        """While inside, kubelet closes the connection in the middle of Register."""
        self.target.rules.meet(Close(), times=times)
        with self._ruled():
            yield

    @contextlib.contextmanager
    def _ruled(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.target.rules.end()

    # -- the folder -----------------------------------------------------------------------------

    def deprecate(self) -> None:
        """Drops the empty DEPRECATION file of old kubelets."""
        self.spoilt = True
        self.layout.announce_deprecation()

    def remove_folder(self) -> None:
        """The device-plugins directory goes, with all in it; `start_kubelet` makes it again."""
        self.spoilt = True
        before = self.folder.stat().st_ino

        def gone() -> bool:
            shutil.rmtree(self.folder, ignore_errors=True)  # the plugin may be at work in it
            return not self.folder.exists() or self.folder.stat().st_ino != before

        eventually(gone, 10.0, "the device-plugins directory can be removed")
