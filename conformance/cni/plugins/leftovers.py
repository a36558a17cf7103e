"""What calls leave behind, apart from what a network keeps once it was used.

A bridge, a chain of the packet filter, the directory of a store: the first attachment makes them
for all, and no rule asks for their removal. So a comparison begins after one attachment came and
went, in the namespace that the next one gets. The link that a chained plugin works on is another's,
who takes it away after its DEL, and what hangs on the link goes with it: so it does here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.verdict import expect
from refimpl.cni.host import Snapshot


@attrs.frozen
class Used:
    """A pod whose network has been used by another before; the state since then."""

    plugin: PluginUnderTest
    pod: CniAttachment
    before: Snapshot

    def nothing_left(self, rule: str) -> None:
        """Raises Broken where there is more or less than before."""
        if self.plugin.kind == "chained" and self.plugin.has_host:
            self.plugin.host.remove_netns(self.pod.netns)
        left = self.before.difference(self.plugin.state())
        expect(not left, rule, wanted="all as it was before the ADD", got="; ".join(left))


def used(plugin: PluginUnderTest, config: Mapping[str, Any] | None = None) -> Used:
    """A pod after one that came and went; how its DEL ended is not looked at. Raises Broken."""
    first = plugin.pod()
    plugin.added(first, config)
    plugin.delete(first)
    return again(plugin, first)


def again(plugin: PluginUnderTest, last: CniAttachment) -> Used:
    """The same after one more attachment that came and went: that of `last`."""
    if plugin.kind == "chained":
        before = plugin.state()
        return Used(plugin, plugin.pod(), before)
    pod = last.other(container_id=f"{last.container_id}-next")
    return Used(plugin, pod, plugin.state())
