"""Mistakes people make in network configurations, one at a time, and the row that each breaks."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from conformance.cni.networks.documents import Documents
from refimpl.cni.config.folder import LISTS, extension
from refimpl.cni.lint import Report, Severity
from refimpl.cni.lint.finding import visible
from refimpl.cni.lint.subject import Network, Plugin
from refimpl.documents import json

MOST = 8
"""Documents that are looked at; in a large directory they are drawn by the seed."""

_LARGEST = 64 * 1024  # bytes written anew for every mutation

Change = Callable[[dict[str, Any]], object]
_PORTMAP: dict[str, Any] = {"type": "portmap", "capabilities": {"portMappings": True}}
_BRIDGE: dict[str, Any] = {
    "type": "bridge",
    "ipam": {"type": "host-local", "subnet": "10.1.0.0/16"},
}


class Blind(RuntimeError):
    """Lint does not see what it is for: a fault of ours."""


@attrs.frozen
class LintMutation:
    """One mistake: the row it breaks, its name, and the document or plugin object it is made in."""

    row: str
    what: str
    make: Change


def _mutation(number: int, what: str, make: Change) -> LintMutation:
    return LintMutation(f"CNI-CFG-{number:03}", what, make)


def _set(**members: Any) -> Change:
    """Sets members."""
    return lambda target: target.update(members)


def _drop(*names: str) -> Change:
    return lambda target: [target.pop(name, None) for name in names]


def _at(version: str, then: Change = lambda _target: None) -> Change:
    """The document at that one version, then another change."""

    def make(target: dict[str, Any]) -> None:
        target.pop("cniVersions", None)
        target["cniVersion"] = version
        then(target)

    return make


def _append(*plugins: Mapping[str, Any]) -> Change:
    return lambda target: target["plugins"].extend(plugins)


def _ipam(**members: Any) -> Change:
    """Sets members of the ipam object, of host-local where there is none."""

    def make(target: dict[str, Any]) -> None:
        present = target.get("ipam") or {"type": "host-local"}
        target["ipam"] = {**present, **members}

    return make


def _unchecked(target: dict[str, Any]) -> None:
    target.pop("disableCheck", None)
    target["plugins"] += [_BRIDGE, {"type": "sbr"}]


IN_BYTES: dict[str, Callable[[bytes], bytes]] = {
    "the last brace is missing": lambda data: data.rstrip()[:-1],
    "a comment": lambda data: b"// ours\n" + data,
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "something after the document": lambda data: data + b"}",
}
IN_DOCUMENTS = (
    _mutation(2, "no name", _drop("name")),
    _mutation(2, "a name with a separator", _set(name="a/b")),
    _mutation(3, "a name of 175 bytes", _set(name="a" * 175)),
    _mutation(5, "no version", _drop("cniVersion", "cniVersions")),
    _mutation(6, "a version with a v", _at("v1.0.0")),
    _mutation(6, "a version of two numbers", _at("1.0")),
    _mutation(6, "a version that does not exist", _at("9.9.9")),
    _mutation(7, "cniVersions is no list", _set(cniVersions="1.1.0")),
    _mutation(7, "a version with a v in cniVersions", _set(cniVersions=["v1.1.0"])),
    _mutation(8, "cniVersions of old versions", _set(cniVersion="0.4.0", cniVersions=["0.4.0"])),
    _mutation(36, "a number that float64 changes", _set(number=2**53 + 1)),
    _mutation(37, "cniVersion in another letter case", _set(CniVersion="1.0.0")),
)
IN_LISTS = (
    _mutation(9, "a flag in quotes", _set(disableCheck="true")),
    _mutation(9, "a flag that is a number", _set(disableGC=1)),
    _mutation(11, "an empty list of plugins", _set(plugins=[])),
    _mutation(11, "a plugin that is a text", lambda target: target["plugins"].append("portmap")),
    _mutation(
        12,
        "inlined plugins only, and none there",
        lambda target: (target.pop("plugins"), target.update(loadOnlyInlinedPlugins=True)),
    ),
    _mutation(17, "firewall in a list of 0.3.1", _at("0.3.1", _append({"type": "firewall"}))),
    _mutation(20, "portmap without its capability", _append({"type": "portmap"})),
    _mutation(29, "portmap first", lambda target: target["plugins"].insert(0, _PORTMAP)),
    _mutation(30, "two interfaces", _append({"type": "bridge"}, {"type": "macvlan"})),
    _mutation(31, "sbr with CHECK", _at("1.0.0", _unchecked)),
)
IN_SINGLES = (_mutation(33, "a single plugin of 1.0.0", _at("1.0.0")),)
IN_PLUGINS = (
    _mutation(10, "a flag in a plugin", _set(disableCheck=True)),
    _mutation(15, "no type", _drop("type")),
    _mutation(15, "a type with a directory", _set(type="/opt/cni/bin/bridge")),
    _mutation(18, "runtimeConfig", _set(runtimeConfig={})),
    _mutation(19, "a capability that is no boolean", _set(capabilities={"mac": "true"})),
    _mutation(19, "a capability nobody knows", _set(capabilities={"portMapping": True})),
    _mutation(22, "ipam is a text", _set(ipam="host-local")),
    _mutation(22, "no ipam type", _set(ipam={"subnet": "10.1.0.0/16"})),
    _mutation(
        23, "a subnet with host bits", _set(ipam={"type": "host-local", "subnet": "10.1.0.1/16"})
    ),
    _mutation(25, "a destination without a prefix length", _ipam(routes=[{"dst": "10.0.0.0"}])),
    _mutation(41, "a destination with host bits", _ipam(routes=[{"dst": "10.1.2.3/8"}])),
    _mutation(27, "a nameserver by name", _set(dns={"nameservers": ["dns.example.org"]})),
    _mutation(28, "ipMasq in quotes", _set(ipMasq="true")),
)
# Made in a plugin object of a document that is set to the version.
IN_PLUGINS_AT = {
    "0.2.0": _mutation(
        24,
        "two ranges in an old version",
        _set(
            ipam={
                "type": "host-local",
                "ranges": [[{"subnet": "10.1.0.0/16"}], [{"subnet": "10.2.0.0/16"}]],
            }
        ),
    ),
    "1.0.0": _mutation(26, "mtu of a route", _ipam(routes=[{"dst": "0.0.0.0/0", "mtu": 1400}])),
}


def chosen(documents: Documents) -> list[Network]:
    """The documents without errors, at most MOST of them."""
    wrong = {one.file for one in documents.report.findings if one.severity is Severity.ERROR}
    sound = [
        network
        for network in documents.networks
        if visible(str(network.source.path)) not in wrong and _small(network)
    ]
    if len(sound) <= MOST:
        return sound
    return random.Random(documents.seed).sample(sound, MOST)


def watch(documents: Documents, network: Network) -> None:
    """Makes every mistake that fits in a copy of the document; raises Blind for the first unseen.

    The copy that has none must have no finding that the document has not.
    """
    name = network.source.path.name
    lint = documents.lint_bytes
    known = {one.id for one in documents.report.findings}
    if "plugins" not in network.value:
        known.add("CNI-CFG-011")  # in memory there is no directory to supply them
    new = _rows(lint(json.dump(network.value), name=name)) - known
    if new:
        raise Blind(f"{name}, written anew, has findings of its own: {', '.join(sorted(new))}")
    for row, what, data, called in mistakes(network):
        if row not in _rows(lint(data, name=called)):
            raise Blind(f"lint does not see, in a copy of {name}: {what} ({row})")


def mistakes(network: Network) -> Iterator[tuple[str, str, bytes, str]]:
    """(row, what, the document with the mistake, its file's name) of all that fit."""
    name, value = network.source.path.name, network.value
    for what, spoil in IN_BYTES.items():
        yield "CNI-CFG-001", what, spoil(json.dump(value)), name
    whole = (*IN_DOCUMENTS, *(IN_SINGLES if network.single else ()))
    if isinstance(value.get("plugins"), list):
        whole += IN_LISTS
    for mutation in whole:
        yield mutation.row, mutation.what, _made(value, mutation.make), name
    for row, what, make in _in_plugins(network):
        yield row, what, _made(value, make), name
    other = "net.conf" if extension(name) in LISTS else "net.conflist"
    if network.single == (other == "net.conflist"):
        yield "CNI-CFG-032", "the wrong extension", json.dump(value), other


def _in_plugins(network: Network) -> Iterator[tuple[str, str, Change]]:
    """Every mistake in every plugin object, as changes of the document."""
    for plugin in network.inlined:
        for mutation in IN_PLUGINS:
            yield mutation.row, mutation.what, _inside(plugin, mutation.make)
        for version, mutation in IN_PLUGINS_AT.items():
            yield mutation.row, mutation.what, _at(version, _inside(plugin, mutation.make))
        if not network.single:
            yield "CNI-CFG-021", "another name", _inside(plugin, _set(name="other/"))


def _inside(plugin: Plugin, make: Change) -> Change:
    """The change in the plugin object, as one of the document."""

    def change(target: dict[str, Any]) -> None:
        place: Any = target
        for step in plugin.pointer:
            place = place[step]
        make(place)

    return change


def _made(value: dict[str, Any], make: Change) -> bytes:
    changed = copy.deepcopy(value)
    make(changed)
    return json.dump(changed)


def _rows(report: Report) -> set[str]:
    return {one.id for one in report.findings if one.severity is not Severity.INFO}


def _small(network: Network) -> bool:
    status = network.source.status
    return status is not None and status.st_size <= _LARGEST
