"""Calls that end by SIGKILL: a node that runs out of memory, a runtime that loses patience."""

from __future__ import annotations

from conformance.cni.needs import ATTACHES, V0_4
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.leftovers import again, used
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import together
from refimpl.cni.contract import Verb
from refimpl.cni.execute import PLAIN, Conditions, Outcome

_PARTS = (0.15, 0.35, 0.5, 0.65, 0.8, 0.95)
"""When the kill comes, in parts of the time that a whole call takes."""

_NEVER = Conditions(kill_after_s=3600)


@case("CNI-PLG-083", "CNI 1.1 DEL", needs=[ATTACHES, V0_4])
def test_delete_clears_up_after_an_add_that_was_killed(plugin: PluginUnderTest) -> None:
    """DEL is all that a runtime can do about a half-made attachment: what it misses, stays."""
    network = used(plugin)
    whole_s = _run(plugin, Verb.ADD, network.pod, _NEVER).duration_s
    plugin.delete(network.pod)
    with together() as check:
        for part in _PARTS:
            network = again(plugin, network.pod)
            _run(plugin, Verb.ADD, network.pod, Conditions(kill_after_s=part * whole_s))
            rule = f"DEL undoes an ADD that was killed {_when(part, whole_s)}"
            with check:
                succeeded(_run(plugin, Verb.DEL, network.pod), rule)
            with check:
                network.nothing_left(rule)


@case("CNI-PLG-084", "CNI 1.1 DEL", needs=[ATTACHES, V0_4])
def test_delete_goes_on_where_a_killed_delete_stopped(plugin: PluginUnderTest) -> None:
    """A half-done DEL must not make the next one stumble over what is gone already."""
    network = used(plugin)
    plugin.added(network.pod)
    whole_s = _run(plugin, Verb.DEL, network.pod, _NEVER).duration_s
    with together() as check:
        for part in _PARTS:
            network = again(plugin, network.pod)
            plugin.added(network.pod)
            _run(plugin, Verb.DEL, network.pod, Conditions(kill_after_s=part * whole_s))
            rule = f"DEL completes a DEL that was killed {_when(part, whole_s)}"
            with check:
                succeeded(plugin.delete(network.pod), rule)
            with check:
                network.nothing_left(rule)


def _when(part: float, whole_s: float) -> str:
    return f"after {part * whole_s * 1000:.0f} of {whole_s * 1000:.0f} ms"


def _run(
    plugin: PluginUnderTest, verb: Verb, pod: CniAttachment, how: Conditions = PLAIN
) -> Outcome:
    """Without the result of an ADD: a runtime has none of one that was killed."""
    return plugin.run(plugin.request(verb, pod, plugin.config()), conditions=how)
