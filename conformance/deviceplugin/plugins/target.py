"""A device plugin under test as a target of the engine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack

from conformance.deviceplugin.plugins.capabilities import PluginCapabilities
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.sessions import PluginSetup, Sessions
from conformance.engine.scope import CaseScope
from conformance.engine.targets.life import fatal
from conformance.engine.targets.resolve import ResolvedTarget
from conformance.engine.targets.target import Loss
from conformance.engine.verdict import Broken, soon
from refimpl.deviceplugin import illusion
from refimpl.wire.client import Unreachable
from refimpl.wire.journal import Entry, Journal

__all__ = ["PluginTarget"]


class PluginTarget:
    """What is judged: a plugin, in one session after the other. `lacks`: feature -> why it has not
    got it. `stack` is what has to be ended with it."""

    interface = "deviceplugin"
    secrets: Collection[str] = ()
    only_warns: Collection[str] = ()

    def __init__(
        self,
        setup: PluginSetup,
        resolved: ResolvedTarget,
        journal: Journal,
        *,
        name: str,
        version: str,
        stack: ExitStack | None = None,
    ) -> None:
        self.name, self.version, self.journal = name, version, journal
        self.revision = resolved.judged_by(setup.release)
        self.sessions = Sessions(setup, journal)
        self.lacks = PluginCapabilities(setup, self.look).lacks
        self._stack = stack or ExitStack()

    def introduce(self) -> None:
        """Waits until the plugin has come to kubelet once; raises Unreachable where it does not."""
        plugin = self.look()
        try:
            _ = plugin.resource
        except Broken as broken:
            where = f"; kubelet lies at {illusion.REAL} for it, or at {{kubelet}}"
            raise Unreachable(
                f"{self.name} neither calls Register at kubelet.sock nor serves in plugins_registry"
                f"{where if self.sessions.setup.hidden else ''}\n  {broken.got}"
            ) from None
        finally:
            self._done(plugin)

    # What cases get

    def plugin(self, case: CaseScope) -> DevicePluginUnderTest:
        """The plugin for one case."""
        plugin = self.look()
        case.callback(lambda: self._done(plugin))
        return plugin

    def look(self) -> DevicePluginUnderTest:
        """The plugin as it is; in a new session where the last case left none. Whoever asks closes
        its calls."""
        plugin = DevicePluginUnderTest(self.sessions)
        if not self.sessions.open:
            plugin.fresh()
            plugin.session.spoilt = False
        return plugin

    def _done(self, plugin: DevicePluginUnderTest) -> None:
        plugin.calls.close()
        self.sessions.hand_on()

    # What the engine asks

    def mark(self) -> int:
        """A place in the journal."""
        return self.journal.seq

    def calls(self, mark: int) -> list[Entry]:
        """The calls since then, of plugin and kubelet."""
        return self.journal.since(mark)

    def reproduce(self, _calls: Sequence[Entry]) -> str:
        """Nothing: the plugin and the kubelet around it end with the run."""
        return ""

    def lost(self, *, failed: bool = True) -> Loss | None:
        """How a plugin ended by itself, or that it answers nothing; it is started again for the
        next case. It is asked for a sign of life after a case that failed."""
        session = self.sessions.current if self.sessions.open else None
        if session is None or session.main is None or session.main.ended_by_us:
            return None
        if failed and session.hung_up():
            soon(lambda: not session.main or not session.main.alive(), 5.0)  # it may be dying
        silent = session.main.alive()
        if not (failed if silent else not session.may_exit):
            return None
        reason = session.silence() if silent else session.main.fate()
        if not reason:
            return None
        call = fatal(session.calls())
        self.sessions.end()
        return Loss(reason, True, "silence" if silent else f"{call.rpc if call else ''} {reason}")

    def close(self) -> None:
        """Ends plugin and kubelet."""
        self.sessions.close()
        self._stack.close()
