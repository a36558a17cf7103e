"""What every reader of a network configuration needs to find in it (CNI 1.1, section 1).

Each problem names the row of the catalogue it breaks, so that lint and the reader agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import attrs

from refimpl.cni.contract import version_key
from refimpl.cni.contract.problem import describe
from refimpl.documents import Pointer

# Network names and container ids share this alphabet.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
# What libcni, and nobody else, can compare: up to three integers.
LOOSE = re.compile(r"([+-]?[0-9]+(\.[+-]?[0-9]+){0,2})?")
FLAGS = ("disableCheck", "disableGC", "loadOnlyInlinedPlugins")
DNS_LISTS = ("nameservers", "search", "options")


@attrs.frozen
class Problem:
    """One defect. `tolerated`: libcni loads the document all the same."""

    row: str
    pointer: Pointer
    text: str
    fix: str
    tolerated: bool = False


def is_single(value: Any) -> bool:
    """Whether a document is one plugin's configuration and not a list of them."""
    return isinstance(value, dict) and "type" in value and "plugins" not in value


def is_flag(value: Any) -> bool:
    """Whether libcni takes the value for a boolean."""
    return isinstance(value, bool) or (
        isinstance(value, str) and value.lower() in ("true", "false")
    )


def is_version(value: Any) -> bool:
    """Whether the value has the form of a version; "" is that of a document without one."""
    try:
        return isinstance(value, str) and bool(version_key(value))
    except ValueError:
        return False


def problems(value: Any, *, as_single: bool = False) -> Iterator[Problem]:
    """Every defect of a network document, a list or a single plugin's; none when it is sound.

    `as_single`: read as loaders read a .conf file, whatever the document looks like.
    """
    if not isinstance(value, dict):
        text = f"the document is {describe(value)}, not an object"
        yield Problem("CNI-CFG-001", (), text, 'write {"cniVersion": ..., "name": ..., ...}')
        return
    single = as_single or is_single(value)
    yield from _name(value, single)
    yield from _versions(value, single)
    if single:
        yield from _plugin(value, ())
        return
    for flag in FLAGS:
        if flag in value and not isinstance(value[flag], bool):
            text = f'"{flag}" is {describe(value[flag])}, not a boolean'
            yield Problem("CNI-CFG-009", (flag,), text, "write true or false", is_flag(value[flag]))
    yield from _plugins(value)


def plugin_problems(value: Any, pointer: Pointer) -> Iterator[Problem]:
    """Every defect of one plugin object at `pointer` of its document."""
    if not isinstance(value, dict):
        text = f"the plugin is {describe(value)}, not an object"
        yield Problem("CNI-CFG-011", pointer, text, 'write {"type": "...", ...}')
        return
    for key in ("name", "cniVersion"):
        if not isinstance(value.get(key, ""), str | None):
            text = f'"{key}" of the plugin is {describe(value[key])}, not a string'
            fix = "remove it: the network's is sent"
            yield Problem("CNI-CFG-021", (*pointer, key), text, fix)
    yield from _plugin(value, pointer)


def _plugin(value: dict[str, Any], pointer: Pointer) -> Iterator[Problem]:
    """The members that single plugins and those of a list have in common."""
    yield from _type("CNI-CFG-015", value, pointer, "plugin")
    if not isinstance(value.get("prevResult"), dict | None):
        text = f'"prevResult" is {describe(value["prevResult"])}, not an object'
        fix = "remove it: only the runtime has one"
        yield Problem("CNI-CFG-018", (*pointer, "prevResult"), text, fix)
    yield from _capabilities(value, pointer)
    yield from _ipam(value, pointer)
    yield from dns_problems(value.get("dns"), (*pointer, "dns"))


def _name(value: dict[str, Any], single: bool) -> Iterator[Problem]:
    row, fix = "CNI-CFG-002", "give a name of letters, digits, '_', '.' and '-'"
    if "name" not in value:
        yield Problem(row, (), 'the network has no "name"', fix, single)
    elif not isinstance(value["name"], str):
        text = f'"name" is {describe(value["name"])}, not a string'
        yield Problem(row, ("name",), text, fix, single and value["name"] is None)
    elif not NAME.fullmatch(value["name"]):
        wrong = f'"name" is {describe(value["name"])}, which is no network name'
        yield Problem(row, ("name",), wrong, fix + ", starting with a letter or digit", True)


def _versions(value: dict[str, Any], single: bool) -> Iterator[Problem]:
    row, fix = "CNI-CFG-006", 'write three numbers, for example "1.0.0"'
    version, versions = value.get("cniVersion", ""), value.get("cniVersions", [])
    if not isinstance(version, str):
        text = f'"cniVersion" is {describe(version)}, not a string'
        yield Problem(row, ("cniVersion",), text, fix, single and version is None)
    elif not is_version(version):
        text = f'"cniVersion" is {describe(version)}, which has not the form of a version'
        unread = single or "cniVersions" not in value
        yield Problem(row, ("cniVersion",), text, fix, unread or bool(LOOSE.fullmatch(version)))
    row = "CNI-CFG-007"
    if not isinstance(versions, list):
        text = f'"cniVersions" is {describe(versions)}, not a list'
        fix = 'write a list, for example ["1.0.0", "1.1.0"]'
        yield Problem(row, ("cniVersions",), text, fix, single)
        return
    for index, entry in enumerate(versions):
        if not entry or not is_version(entry):
            text = f'"cniVersions" holds {describe(entry)}, which is no version'
            loose = isinstance(entry, str) and bool(LOOSE.fullmatch(entry))
            yield Problem(row, ("cniVersions", index), text, fix, single or loose)


def _plugins(value: dict[str, Any]) -> Iterator[Problem]:
    if "plugins" not in value:
        if value.get("loadOnlyInlinedPlugins") is True:
            text = '"loadOnlyInlinedPlugins" is true and there is no "plugins"'
            fix = 'add "plugins" or set "loadOnlyInlinedPlugins" to false'
            yield Problem("CNI-CFG-012", ("loadOnlyInlinedPlugins",), text, fix)
        return
    plugins = value["plugins"]
    if not isinstance(plugins, list) or not plugins:
        text = f'"plugins" is {describe(plugins)}'
        yield Problem("CNI-CFG-011", ("plugins",), text, "list at least one plugin object")
        return
    for index, plugin in enumerate(plugins):
        yield from plugin_problems(plugin, ("plugins", index))


def _type(row: str, value: dict[str, Any], pointer: Pointer, what: str) -> Iterator[Problem]:
    fix = "name the file of the plugin, without a directory"
    if not value.get("type"):
        missing = "has no" if "type" not in value else "has an empty"
        at = (*pointer, "type") if "type" in value else pointer
        yield Problem(row, at, f'the {what} {missing} "type"', fix, what == "ipam")
    elif not isinstance(value["type"], str):
        text = f'"type" of the {what} is {describe(value["type"])}'
        yield Problem(row, (*pointer, "type"), text, fix)
    elif re.search(r"[/\\\s\x00]", value["type"]) or value["type"] in (".", ".."):
        text = f'"type" of the {what} is {describe(value["type"])}, which is no file name'
        yield Problem(row, (*pointer, "type"), text, fix, True)


def _capabilities(value: dict[str, Any], pointer: Pointer) -> Iterator[Problem]:
    capabilities = value.get("capabilities")
    row, at = "CNI-CFG-019", (*pointer, "capabilities")
    fix = 'write for example {"portMappings": true}'
    if capabilities is None:
        return
    if not isinstance(capabilities, dict):
        yield Problem(row, at, f'"capabilities" is {describe(capabilities)}, not an object', fix)
        return
    for name, wanted in capabilities.items():
        if not isinstance(wanted, bool):
            text = f'capability "{name}" is {describe(wanted)}, not a boolean'
            yield Problem(row, (*at, name), text, fix, wanted is None)


def _ipam(value: dict[str, Any], pointer: Pointer) -> Iterator[Problem]:
    ipam = value.get("ipam")
    # An empty object says what a missing one says: this plugin asks nobody for addresses.
    if ipam is None or ipam == {}:
        return
    if not isinstance(ipam, dict):
        text = f'"ipam" is {describe(ipam)}, not an object'
        yield Problem("CNI-CFG-022", (*pointer, "ipam"), text, 'write {"type": "...", ...}')
        return
    # Without a type it may be the plugin's own affair: not every plugin runs another for addresses.
    if "type" in ipam:
        yield from _type("CNI-CFG-022", ipam, (*pointer, "ipam"), "ipam")


def dns_problems(dns: Any, pointer: Pointer) -> Iterator[Problem]:
    """Every defect in the form of a "dns" object (CNI 1.1, DNS well-known type)."""
    row = "CNI-CFG-027"
    if dns is None:
        return
    if not isinstance(dns, dict):
        fix = 'write for example {"nameservers": ["10.0.0.10"]}'
        yield Problem(row, pointer, f'"dns" is {describe(dns)}, not an object', fix)
        return
    for key in DNS_LISTS:
        entry = dns.get(key)
        strings = isinstance(entry, list) and all(isinstance(item, str) for item in entry)
        if entry is not None and not strings:
            text = f'"dns.{key}" is {describe(entry)}, not a list of strings'
            empty = isinstance(entry, list) and all(isinstance(item, str | None) for item in entry)
            yield Problem(row, (*pointer, key), text, 'write for example ["a", "b"]', empty)
    if not isinstance(dns.get("domain") or "", str):
        text = f'"dns.domain" is {describe(dns["domain"])}, not a string'
        yield Problem(row, (*pointer, "domain"), text, 'write for example "example.org"')
