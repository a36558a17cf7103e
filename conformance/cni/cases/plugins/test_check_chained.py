"""CHECK of a chained plugin: what it set up beside the link is looked at."""

from __future__ import annotations

import pytest

from conformance.cni.needs import CHAINED, NETNS, V0_4
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect


@case("CNI-PLG-094", "CNI 1.1 CHECK", needs=[CHAINED, NETNS, V0_4])
def test_check_notices_what_a_chained_plugin_lost(plugin: PluginUnderTest) -> None:
    """A reload of the packet filter takes every port mapping with it, and nobody else would see it.

    Who takes things away here is the plugin itself, by its DEL: so the case need not know whether
    they are chains, queues or rules.
    """
    pod = plugin.attached()
    before = plugin.state()
    plugin.delete(pod)
    if not before.difference(plugin.state()):
        pytest.skip(f"{plugin.name} leaves everything as it is on DEL: nothing is lost")
    outcome = plugin.check(pod)
    expect(
        not outcome.ok,
        "CHECK fails when what ADD set up is gone",
        wanted="a failure",
        got=outcome.brief(),
    )
