"""What a case does to the kubelet around the plugin under test."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

from conformance.deviceplugin.plugins.session import KubeletSession
from conformance.deviceplugin.plugins.sessions import Sessions
from conformance.engine.verdict import eventually
from refimpl.deviceplugin.kubelet import RestartMode
from refimpl.wire.faults import Action, Close, Hang, Status
from refimpl.wire.status import Code

__all__ = ["KubeletControls"]


class KubeletControls:
    """The kubelet of the present session."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @property
    def _session(self) -> KubeletSession:
        return self._sessions.current

    # -- its process ----------------------------------------------------------------------------

    def start(self, *, accepting: bool = True) -> None:
        """Kubelet starts: sockets in the folder go, kubelet.sock comes. Without `accepting`
        callers connect and hear nothing until `thaw`."""
        self._session.spoilt = self._session.spoilt or not accepting
        self._session.start_kubelet(accepting=accepting)

    def thaw(self) -> None:
        """It begins to accept."""
        self._session.kubelet.thaw()

    def stop(self) -> None:
        """Kubelet ends, and leaves all sockets where they are."""
        self._session.kill_kubelet()

    def restart(self, mode: RestartMode = "A", *, gap_s: float | None = None) -> None:
        """Kubelet ends and comes back in one of four ways; gap_s: seconds in between, a short time
        of the suite's own unless given. The next case gets another session: a plugin that takes
        its time for each restart would register in the midst of it."""
        self._session.spoilt = True
        self._session.keep_links()
        short = self._sessions.setup.quiet_s / (2 if mode in "AB" else 10)
        self._session.kubelet.restart(mode, gap_s=short if gap_s is None else gap_s)

    def drop(self) -> None:
        """Its streams break off; socket, folder and kubelet stay."""
        for link in self._session.kubelet.links:
            link.drop()

    # -- its answers to Register ----------------------------------------------------------------

    def refusing(
        self,
        message: str = "refused",
        code: Code = Code.UNKNOWN,
        *,
        times: int | None = None,
        resource: str = "",
    ) -> contextlib.AbstractContextManager[None]:
        """While inside, Register (of one resource) is refused; the first `times` only, if given."""
        return self._answering(Status(code, message), times, resource)

    def hanging(self, *, times: int | None = None) -> contextlib.AbstractContextManager[None]:
        """While inside, Register is not answered; afterwards it is, if the plugin still waits."""
        return self._answering(Hang(), times)

    def hanging_up(self, *, times: int | None = None) -> contextlib.AbstractContextManager[None]:
        """While inside, kubelet closes the connection in the middle of Register."""
        return self._answering(Close(), times)

    @contextlib.contextmanager
    def _answering(self, action: Action, times: int | None, resource: str = "") -> Iterator[None]:
        self._sessions.rules.meet(action, times=times, resource=resource)
        try:
            yield
        finally:
            self._sessions.rules.end()

    # -- the folder -----------------------------------------------------------------------------

    def deprecate(self) -> None:
        """Drops the empty DEPRECATION file of old kubelets."""
        self._session.spoilt = True
        self._session.layout.announce_deprecation()

    def remove_folder(self) -> None:
        """The device-plugins directory goes, with all in it; `start` makes it again."""
        self._session.spoilt = True
        folder = self._session.layout.plugins
        before = folder.stat().st_ino

        def gone() -> bool:
            shutil.rmtree(folder, ignore_errors=True)  # the plugin may be at work in it
            return not folder.exists() or folder.stat().st_ino != before

        eventually(gone, 10.0, "the device-plugins directory can be removed")
