"""Breaches of the chained plugin."""

from __future__ import annotations

from refimpl.cni.format.errors import INVALID_CONFIG, CniError
from refimpl.cni.plugins import kernel, spaces
from refimpl.cni.plugins.breaches.shared import find_out_late, only_read_the_list
from refimpl.cni.plugins.breaches.wrapping import (
    dies,
    excused,
    first,
    gives,
    on,
    skipped,
    then,
    where,
)
from refimpl.cni.plugins.checks import previous
from refimpl.cni.plugins.errors import CHANGED
from refimpl.cni.plugins.kinds import chained, rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.breaches.wrapping import Act, Breaches
    from refimpl.cni.plugins.call import Call

    Document = dict[str, Any]

__all__ = ["BREACHES"]

_MEMBERS = {
    "": ("cniVersion", "interfaces", "ips", "routes", "dns", "ip4", "ip6"),
    "interfaces": ("name", "mac", "mtu", "sandbox", "socketPath", "pciID"),
    "ips": ("version", "address", "gateway", "interface"),
    "routes": ("dst", "gw", "mtu", "advmss", "priority", "table", "scope"),
    "dns": ("nameservers", "domain", "search", "options"),
}


def _do_without(proceed: Act, call: Call) -> Any:
    if call.config.get("prevResult") is None:
        return {"cniVersion": call.version}
    return proceed(call)


def _relabel(_proceed: Act, call: Call) -> Document:
    previous(call)
    return {**call.config["prevResult"], "cniVersion": call.version}


def _own_interface_only(call: Call, document: Document) -> Document:
    own = [each for each in document.get("interfaces", ()) if each["name"] == call.ifname]
    return {"cniVersion": call.version, "interfaces": own}


def _another_address(_call: Call, document: Document) -> None:
    for ip in document.get("ips", ())[:1]:
        ip["address"] = "fd99::99/64" if ":" in ip["address"] else "203.0.113.99/24"


def _known_only(_call: Call, document: Document) -> Document:
    known: Document = {}
    for key in (key for key in document if key in _MEMBERS[""]):
        value, names = document[key], _MEMBERS.get(key)
        if names and isinstance(value, list):
            value = [{k: v for k, v in item.items() if k in names} for item in value]
        elif names and isinstance(value, dict):
            value = {k: v for k, v in value.items() if k in names}
        known[key] = value
    return known


def _update_all(
    proceed: Act,
    call: Call,
    document: Document,
    _entries: list[Document],
    shown: Document,
) -> None:
    proceed(call, document, document.get("interfaces", ()), shown)


def _need_runtime_config(call: Call) -> None:
    if call.config.get("runtimeConfig") is None:
        raise CniError(INVALID_CONFIG, "runtimeConfig is missing")


def _validate_late(call: Call, _document: Document) -> None:
    for step in (rules.validate, rules.mappings, rules.bandwidth):
        del call.wrappers[step]
    rules.validate(call)


def _need_prev_result(call: Call) -> None:
    if not call.config.get("prevResult"):
        raise CniError(INVALID_CONFIG, "DEL needs prevResult")


def _need_netns(call: Call) -> None:
    if kernel.state_of(spaces.look(call), call.netns) in ("missing", "not a namespace"):
        raise CniError(CHANGED, f"{call.netns} is gone")


BREACHES: Breaches = {
    "crash-after": {chained.set_up: dies(before="start", after="link")},
    "own-netns-late": {chained.add: then(find_out_late)},
    "prev-result-optional": {chained.passed_on: _do_without},
    "mixed-shape": {chained.passed_on: _relabel},
    "drop-prev-result": {chained.passed_on: then(_own_interface_only)},
    "change-prev-result": {chained.passed_on: then(_another_address)},
    "drop-unknown": {chained.passed_on: then(_known_only)},
    "touch-all": {chained.update: _update_all},
    "silent-change": {chained.update: skipped},
    "needs-runtime-config": {rules.validate: first(_need_runtime_config)},
    "late-validation": {
        chained.add: then(_validate_late),
        rules.validate: skipped,
        rules.mappings: excused(list),
        rules.bandwidth: excused(list),
    },
    "del-needs-prev-result": {chained.drop_rules: first(_need_prev_result)},
    "del-needs-netns": {chained.drop_rules: first(_need_netns)},
    "check-nothing": {chained.check: skipped},
    "check-misses-rules": {rules.demanded: where(on("CHECK"), gives(()))},
    "gc-nothing": {chained.gc: only_read_the_list},
}
