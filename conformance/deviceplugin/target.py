"""Opens what the device suites judge: a plugin, a kubelet or a client like it, or our fakes of
both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from conformance.engine.interface import COMMAND
from conformance.engine.needs import Lacks
from conformance.engine.scope import CaseScope
from conformance.engine.targets.resolve import ResolvedTarget
from conformance.engine.targets.target import Loss, Target
from refimpl.wire.journal import Entry, Journal

if TYPE_CHECKING:
    from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
    from conformance.deviceplugin.plugins.target import PluginTarget
    from conformance.kubelet.node import NodeUnderTest
    from conformance.kubelet.target import ClientTarget

__all__ = ["OurSides", "open_target"]

_KEEP = 50_000


def open_target(resolved: ResolvedTarget) -> Target:
    """Opens what is named; raises BadOption, wire.client.Unreachable."""
    if resolved.side == "client":
        return _client(resolved)
    return OurSides(resolved) if resolved.ours else _plugin(resolved)


def _plugin(resolved: ResolvedTarget) -> PluginTarget:
    from conformance.deviceplugin.plugins.opening import open_plugin  # a client does not pay for it

    target = open_plugin(resolved, Journal(keep=_KEEP))
    try:
        target.introduce()
    except BaseException:
        target.close()
        raise
    return target


def _client(resolved: ResolvedTarget) -> ClientTarget:
    from conformance.kubelet import target  # a plugin does not pay for it

    if resolved.ours:
        return target.open_fake(resolved, Journal(keep=_KEEP))
    opener = target.open_command if resolved.scheme == COMMAND else target.open_socket
    return opener(resolved, Journal(keep=_KEEP))


class OurSides:
    """Our plugin and our kubelet as one target. A case is about one of them, and nothing of the
    kubelet runs before a case asks for it."""

    interface, name = "deviceplugin", "refimpl"
    secrets: Collection[str] = ()
    only_warns: Collection[str] = ()

    def __init__(self, resolved: ResolvedTarget) -> None:
        from conformance.deviceplugin.plugins.opening import open_plugin
        from conformance.kubelet.target import release_of

        # The name in `fake:NAME` is a persona of the plugin.
        self._client = attrs.evolve(resolved, address="") if resolved.scheme == "fake" else resolved
        self.revision = resolved.judged_by(release_of(self._client))
        self.journal = Journal(keep=_KEEP)
        self.plugin_side: PluginTarget = open_plugin(resolved, self.journal)
        self.version = self.plugin_side.version
        self._judged: PluginTarget | ClientTarget = self.plugin_side
        self.lacks = Lacks({}, self._lack)

    @cached_property
    def client_side(self) -> ClientTarget:
        """The kubelet."""
        from conformance.kubelet.target import open_fake

        return open_fake(self._client, self.journal)

    def _lack(self, feature: str) -> str:
        plugin = self.plugin_side.lacks
        return plugin[feature] if feature in set(plugin) else self.client_side.lacks[feature]

    # What cases get

    def plugin(self, case: CaseScope) -> DevicePluginUnderTest:
        """The plugin, for one case."""
        self._judged = self.plugin_side
        return self.plugin_side.plugin(case)

    def node(self, case: CaseScope) -> NodeUnderTest:
        """The node of the kubelet, for one case."""
        self._judged = self.client_side
        return self.client_side.node(case)

    # What the engine asks

    def mark(self) -> int:
        """A place in the journal of both."""
        return self.journal.seq

    def calls(self, mark: int) -> list[Entry]:
        """The calls of both since then."""
        return self.journal.since(mark)

    def reproduce(self, _calls: Sequence[Entry]) -> str:
        """Nothing: both sides end with the run."""
        return ""

    def lost(self, *, failed: bool = True) -> Loss | None:
        """What became of the side that the last case was about; None while it serves."""
        return self._judged.lost(failed=failed)

    def close(self) -> None:
        """Ends both."""
        self.plugin_side.close()
        if "client_side" in vars(self):
            self.client_side.close()
