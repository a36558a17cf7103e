"""CNI_NETNS that leads nowhere, to something else, or to the plugin's own namespace."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.cni.needs import INTERFACE, NETNS
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.delegates import Delegate
from conformance.cni.plugins.failures import commanded
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, should, together
from refimpl.cni.contract import Verb
from refimpl.cni.execute import Outcome, Request
from refimpl.cni.host import HostError

_OWN = "refimpl-own"  # in the plugin's own namespace nothing else has that name
_OVERRIDE = {"CNI_NETNS_OVERRIDE": "1"}


@case("CNI-PLG-052", "CNI 1.1 ADD, Parameters", needs=[INTERFACE])
def test_add_fails_where_there_is_no_namespace(plugin: PluginUnderTest) -> None:
    """A runtime that lost a race asks with a path that is gone; what the plugin took before it
    noticed nobody gives back. In its own namespace it would change the node's network.
    """
    ipam = Delegate(plugin) if plugin.subject.delegates else None
    config = ipam.config() if ipam else plugin.config()
    file = plugin.folder / "a-file"
    file.write_text("no namespace\n")
    gone = plugin.folder / "no-such-namespace"
    with together() as check:
        for name, path in (("missing", gone), ("a plain file", file), ("a directory", file.parent)):
            with check:
                _refused(plugin, config, name, path)
            with check:
                if ipam:
                    _given_back(ipam, f"ADD whose CNI_NETNS is {name}")
        with check:
            if plugin.attaches:
                _own_is_refused(plugin, config)


def _refused(plugin: PluginUnderTest, config: Mapping[str, Any], name: str, path: Path) -> None:
    pod = CniAttachment(
        f"{plugin.network}-{name.replace(' ', '-')}", str(path), plugin.subject.ifname
    )
    outcome = plugin.add(pod, config)
    rule = f"ADD fails when the path in CNI_NETNS is {name}"
    expect(not outcome.ok, rule, wanted="a failure", got=outcome.brief())


def _given_back(ipam: Delegate, what: str) -> None:
    """Raises Doubtful where the delegate's last word is an ADD."""
    verbs = [each.verb for each in ipam.calls("ADD", "DEL")]
    rule = f"{what} keeps no address: the delegate gets a DEL after its ADD"
    should(verbs[-1:] != ["ADD"], rule, wanted="no ADD, or a DEL behind it", got=verbs)


def _own_is_refused(plugin: PluginUnderTest, config: Mapping[str, Any]) -> None:
    """The specification says nothing of it, the Go library does: it warns at most."""
    add = _own_add(plugin, config)
    before = plugin.state()
    outcome = plugin.run(add)
    changed = before.difference(plugin.state())
    _undone(plugin, add.with_env(**_OVERRIDE))
    with together() as check:
        with check:
            rule = "ADD into the plugin's own namespace is refused"
            should(not outcome.ok, rule, wanted="a failure", got=outcome.brief())
        if plugin.settings.policy == "practice":
            return  # the Go library looks when the work is done
        with check:
            rule = "a refused ADD into the plugin's own namespace changes nothing"
            should(not changed, rule, wanted="no difference", got="; ".join(changed))
        with check:
            code = outcome.error.code if outcome.error else None
            rule = "ADD into the plugin's own namespace is refused with a code for that"
            should(
                outcome.ok or code in (4, 8),
                rule,
                wanted="one error object with code 4 or 8",
                got=outcome.brief(),
            )


def _own_add(plugin: PluginUnderTest, config: Mapping[str, Any]) -> Request:
    ifname = plugin.subject.ifname if plugin.subject.ifname == "lo" else _OWN
    pod = plugin.pod().other(netns=plugin.host.own_netns(), ifname=ifname)
    return plugin.request(Verb.ADD, pod, config)


def _undone(plugin: PluginUnderTest, add: Request) -> Outcome:
    """DEL in the plugin's own namespace; what it leaves there goes too, for other cases to work."""
    outcome = plugin.run(commanded(add, Verb.DEL))
    for name in (_OWN, plugin.subject.config.get("device", _OWN)):
        with contextlib.suppress(HostError):
            plugin.host.delete_link(None, name)
    return outcome


@case(
    "CNI-PLG-053",
    "practice: CNI_NETNS_OVERRIDE of the Go library",
    needs=[INTERFACE, NETNS],
)
def test_the_override_allows_the_plugins_own_namespace(plugin: PluginUnderTest) -> None:
    """Who runs containers inside a container's network asks for it knowingly."""
    add = _own_add(plugin, _without_routes(plugin.config())).with_env(**_OVERRIDE)
    outcome = plugin.run(add)
    undo = _undone(plugin, add)
    with together() as check:
        with check:
            succeeded(
                outcome, "ADD into the plugin's own namespace succeeds with CNI_NETNS_OVERRIDE=1"
            )
        with check:
            succeeded(undo, "DEL in the plugin's own namespace succeeds with CNI_NETNS_OVERRIDE=1")


def _without_routes(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the routes of its ipam: in the plugin's own namespace the gateway is an
    address of that namespace, and the kernel takes no IPv6 route by one."""
    ipam = {key: value for key, value in document.get("ipam", {}).items() if key != "routes"}
    return {**document, "ipam": ipam} if ipam else document
