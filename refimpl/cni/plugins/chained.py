"""The chained plugin: adjusts the attachment that prevResult describes, and passes it on.

Configuration: mac, mtu; runtimeConfig: mac, mtu, portMappings, bandwidth. What it sets up beside
the link is noted as rules on the host's side of the kernel file.
"""

from __future__ import annotations

import os

from refimpl.cni.format.errors import INCOMPATIBLE_VERSION, INVALID_CONFIG, NOT_AVAILABLE, CniError
from refimpl.cni.format.versions import at_least
from refimpl.cni.plugins import kernel, spaces
from refimpl.cni.plugins.checks import previous, valid_pairs
from refimpl.cni.plugins.errors import CHANGED
from refimpl.cni.plugins.results import load, same_shape, shape
from refimpl.cni.plugins.rules import demanded, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from refimpl.cni.plugins.request import Call

__all__ = ["add", "check", "delete", "gc", "status"]


def add(call: Call) -> dict[str, Any]:
    """Returns prevResult with what was changed. Raises CniError; nothing is changed then."""
    spaces.refuse_own(call)
    if not call.breach("late-validation"):
        validate(call)
    document = _passed_on(call)
    call.point("start")
    if change := _change(call):
        _adjust(call, document, change)
    rules = demanded(call, document)
    if rules:
        with kernel.Change(spaces.kernel_path(call)) as state:
            host: Any = kernel.namespace(state, kernel.HOST)
            host["rules"] += [rule for rule in rules if rule not in host["rules"]]
    call.point("link")
    if call.breach("late-validation"):
        validate(call)
    spaces.refuse_own_late(call, document)
    return document


def _passed_on(call: Call) -> dict[str, Any]:
    given = call.config.get("prevResult")
    if given is None and call.breach("prev-result-optional"):
        return {"cniVersion": call.version}
    previous(call)
    assert isinstance(given, dict)
    version = given.get("cniVersion") or call.version
    if call.breach("mixed-shape"):
        return {**given, "cniVersion": call.version}
    try:
        if version == call.version:
            document = same_shape(given, version)
        else:
            document = shape(load(given, version), call.version)
    except ValueError as error:
        raise CniError(
            INCOMPATIBLE_VERSION,
            f"prevResult of version {version} is no result of version {call.version}: {error}",
        ) from None
    return _spoilt(call, document)


def _spoilt(call: Call, document: dict[str, Any]) -> dict[str, Any]:
    if call.breach("drop-prev-result"):
        mine = [each for each in document.get("interfaces", ()) if each["name"] == call.ifname]
        return {"cniVersion": call.version, "interfaces": mine}
    if call.breach("change-prev-result"):
        for ip in document.get("ips", ())[:1]:
            ip["address"] = "fd99::99/64" if ":" in ip["address"] else "203.0.113.99/24"
    if call.breach("drop-unknown"):
        return _known_only(document)
    return document


_KNOWN = {
    "": ("cniVersion", "interfaces", "ips", "routes", "dns", "ip4", "ip6"),
    "interfaces": ("name", "mac", "mtu", "sandbox", "socketPath", "pciID"),
    "ips": ("version", "address", "gateway", "interface"),
    "routes": ("dst", "gw", "mtu", "advmss", "priority", "table", "scope"),
    "dns": ("nameservers", "domain", "search", "options"),
}


def _known_only(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in (key for key in document if key in _KNOWN[""]):
        value, names = document[key], _KNOWN.get(key)
        if names and isinstance(value, list):
            value = [{k: v for k, v in item.items() if k in names} for item in value]
        elif names and isinstance(value, dict):
            value = {k: v for k, v in value.items() if k in names}
        found[key] = value
    return found


def _change(call: Call) -> dict[str, Any]:
    runtime = call.config.get("runtimeConfig", {})
    found = {}
    for key in ("mac", "mtu"):
        value = runtime.get(key) or call.config.get(key)
        if value:
            found[key] = value.lower() if isinstance(value, str) else value
    return found


def _adjust(call: Call, document: dict[str, Any], change: dict[str, Any]) -> None:
    """Changes the link in the kernel and the entry of the result that is CNI_IFNAME's."""
    inside = [each for each in document.get("interfaces", ()) if each.get("sandbox")]
    entries = [each for each in inside if each["name"] == call.ifname]
    if at_least(call.version, "0.3.0") and not entries:
        raise CniError(INVALID_CONFIG, f"prevResult names no interface {call.ifname} in a sandbox")
    with kernel.Change(spaces.kernel_path(call)) as state:
        spaces.usable(call, state)
        space: Any = kernel.namespace(state, call.netns)
        if call.ifname not in space["links"]:
            raise CniError(CHANGED, f"there is no {call.ifname} in {call.netns}")
        space["links"][call.ifname].update(change)
    if call.breach("silent-change"):
        return
    shown = {k: v for k, v in change.items() if k == "mac" or at_least(call.version, "1.1.0")}
    for each in document.get("interfaces", ()) if call.breach("touch-all") else entries:
        each.update(shown)


def delete(call: Call) -> None:
    """Removes the rules of the attachment, whatever else is missing. Raises CniError."""
    spaces.refuse_own(call)
    if call.breach("del-needs-prev-result") and not call.config.get("prevResult"):
        raise CniError(INVALID_CONFIG, "DEL needs prevResult")
    if call.breach("del-needs-netns") and kernel.state_of(spaces.look(call), call.netns) in (
        "missing",
        "not a namespace",
    ):
        raise CniError(CHANGED, f"{call.netns} is gone")
    key = [call.name, call.container_id, call.ifname]
    _keep(call, lambda rule: rule.split()[1:4] != key)


def _keep(call: Call, wanted: Callable[[str], bool]) -> None:
    """Drops the rules that are not wanted; what other plugins noted stays."""
    path = call.settings.get("kernel") or ""
    if not os.path.exists(path):
        return
    with kernel.Change(path) as state:
        host: Any = kernel.namespace(state, kernel.HOST)
        host["rules"] = [rule for rule in host["rules"] if not _ours(rule) or wanted(rule)]


def _ours(rule: str) -> bool:
    return rule.split()[0] in ("portmap", "shape")


def check(call: Call) -> None:
    """The rules are there, and the link is as prevResult says. Raises CniError."""
    if call.breach("check-nothing"):
        return
    spaces.refuse_own(call)
    result = previous(call)
    state = spaces.look(call)
    host: Any = kernel.namespace(state, kernel.HOST)
    for rule in [] if call.breach("check-misses-rules") else demanded(call, result):
        if rule not in host["rules"]:
            raise CniError(CHANGED, f"the rule is gone: {rule}")
    if not _change(call):
        return
    space = kernel.namespace(state, call.netns)
    link = (space or {"links": {}})["links"].get(call.ifname)
    if link is None:
        raise CniError(CHANGED, f"there is no {call.ifname} in {call.netns} any more")
    for each in result.get("interfaces", ()):
        mine = each["name"] == call.ifname and each.get("sandbox") == call.netns
        for key in ("mac", "mtu") if mine else ():
            if each.get(key) and str(each[key]).lower() != str(link[key]):
                raise CniError(
                    CHANGED, f"{call.ifname} has {key} {link[key]}, prevResult says {each[key]}"
                )


def gc(call: Call) -> None:
    """Removes the rules of this network's attachments that are not valid. Raises CniError."""
    pairs = valid_pairs(call)
    if pairs is None or call.breach("gc-nothing"):
        return

    def valid(rule: str) -> bool:
        network, container, ifname = rule.split()[1:4]
        return network != call.name or (container, ifname) in pairs

    _keep(call, valid)


def status(call: Call) -> None:
    """Ready when the kernel file, if there is one, can be read. Raises CniError."""

    try:
        spaces.look(call)
    except CniError as failure:
        raise CniError(NOT_AVAILABLE, f"not ready for ADD: {failure.msg}") from None
