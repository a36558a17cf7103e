"""DEL of what is gone, was never there, or comes with a prevResult that helps nobody."""

from __future__ import annotations

from typing import Any

import attrs

from conformance.cni.needs import ATTACHES, SERVED, V0_4
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.leftovers import used
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.reservations import pool, ranged
from conformance.engine.case import case
from conformance.engine.verdict import Doubtful, expect, should, together
from refimpl.cni.host import Snapshot

_TIMES = 3
_NAMESAKE = "IgnoreUnknown=1;K8S_POD_NAMESPACE=refimpl;K8S_POD_NAME=web-0"


@case("CNI-PLG-071", "CNI 1.1 DEL", needs=[ATTACHES, V0_4])
def test_delete_may_be_repeated(plugin: PluginUnderTest) -> None:
    """A runtime that lost the answer, or whose list failed elsewhere, sends DEL again; a pod whose
    second DEL fails is never gone.
    """
    pod = plugin.attached()
    for number in range(1, _TIMES + 1):
        succeeded(plugin.delete(pod), f"DEL number {number} succeeds")


@case("CNI-PLG-072", "CNI 1.1 DEL", needs=[SERVED, V0_4])
def test_delete_of_what_was_never_added_succeeds(plugin: PluginUnderTest) -> None:
    """After a failed ADD a runtime cleans up the whole list, also plugins that were never asked."""
    pod = plugin.pod()
    before = plugin.state()
    with together() as check:
        with check:
            succeeded(plugin.delete(pod), "DEL of an attachment that was never made succeeds")
        with check:
            changed = before.difference(plugin.state())
            should(
                not changed,
                "DEL of an attachment that was never made leaves no trace",
                wanted="no difference",
                got="; ".join(changed),
            )


# What a runtime may send as prevResult: when it never had a result, or lost it.
_NONE: dict[str, dict[str, Any]] = {"no": {}, "an empty": {"prevResult": {}}}
_NULL = {"null as": {"prevResult": None}}
_JUNK: dict[str, dict[str, Any]] = {
    "a senseless": {"prevResult": {"interfaces": "none", "ips": 5, "cniVersion": "1.0.0"}},
}


@case("CNI-PLG-076", "CNI 1.1 DEL", needs=[ATTACHES, V0_4])
def test_delete_needs_no_prev_result(plugin: PluginUnderTest) -> None:
    """A runtime whose cache was lost or never written has none to give; with one that cannot be
    read the plugin does what it can without.
    """
    with together() as check:
        for what, member in {**_NONE, **_NULL, **_JUNK}.items():
            pod = plugin.attached()
            outcome = plugin.delete(pod, {**plugin.config(), **member}, prev_result=None)
            rule = f"DEL with {what} prevResult succeeds"
            with check:
                if what in _JUNK and not outcome.ok:
                    raise Doubtful(rule, "exit 0", outcome.brief())
                succeeded(outcome, rule)


@case("CNI-PLG-125", "CNI 1.1 DEL", needs=[ATTACHES, V0_4])
def test_delete_of_others_changes_nothing_of_an_attachment(plugin: PluginUnderTest) -> None:
    """A DEL that comes late, twice or for nobody must not reach the pods that run by then."""
    kept, never, gone = used(plugin).pod, plugin.pod(), plugin.pod()
    plugin.added(gone)
    plugin.delete(gone)
    plugin.added(kept)
    before = _apart_from([gone, never], plugin.state())
    with together() as check:
        for other, how in ((gone, "is gone already"), (never, "was never there")) * 2:
            plugin.delete(other)
            now = _apart_from([gone, never], plugin.state())
            touched, before = before.difference(now), now
            with check:
                expect(
                    not touched,
                    f"DEL of an attachment that {how} leaves the others alone",
                    wanted="no difference",
                    got="; ".join(touched),
                )
        with check:
            plugin.deleted(kept)


@case("CNI-PLG-131", "CNI 1.1 Section 3, attachments", needs=[ATTACHES, V0_4])
def test_a_late_delete_without_its_namespace_spares_the_next_of_its_name(
    plugin: PluginUnderTest,
) -> None:
    """A node comes back, and old sandboxes are cleaned up beside the new ones of the same pods. The
    new one may have the old one's address: it is its own all the same.
    """
    # Of one address, where no bridge of another network stands in the way.
    alone = plugin.kind == "ipam" and plugin.subject.ranged
    config = ranged(plugin, pool(1)) if alone else plugin.config()
    first = plugin.pod(args=_NAMESAKE)
    plugin.added(first, config)
    plugin.deleted(first)
    if plugin.has_host:
        plugin.host.remove_netns(first.netns)
    second = plugin.pod(args=_NAMESAKE)
    plugin.added(second, config)
    fine = plugin.check(second).ok  # a CHECK that raises false alarms proves nothing
    rule = "DEL of an attachment that is gone, its namespace too, leaves the next of its name alone"
    with together() as check:
        for netns in (first.netns, ""):
            before = _apart_from([first], plugin.state())
            plugin.delete(attrs.evolve(first, netns=netns))
            with check:
                touched = before.difference(_apart_from([first], plugin.state()))
                expect(not touched, rule, wanted="no difference", got="; ".join(touched))
        with check:
            if fine:
                succeeded(plugin.check(second), f"{rule} as CHECK wants it")


def _apart_from(pods: list[CniAttachment], state: Snapshot) -> Snapshot:
    """The state without the pods' own namespaces, and without what a DEL makes in the place of one
    that is gone: a DEL too many hurts nobody there."""
    own = {pod.netns for pod in pods}
    others = {path: seen for path, seen in state.namespaces.items() if path not in own}
    files = {path: seen for path, seen in state.files.items() if path not in own}
    return attrs.evolve(state, namespaces=others, files=files)
