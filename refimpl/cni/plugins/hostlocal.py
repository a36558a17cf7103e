"""The IPAM plugin: addresses from ranges, kept in a directory of this machine.

Configuration: ipam.ranges or ipam.subnet, routes, resolvConf, dataDir; an address can be asked for
by runtimeConfig.ips, args.cni.ips or CNI_ARGS IP, the first of them that is given counts.
"""

from __future__ import annotations

import os

from refimpl.cni.format.addresses import address, cidr, network_of, text
from refimpl.cni.format.errors import INVALID_CONFIG, IO, NOT_AVAILABLE, CniError
from refimpl.cni.plugins import requested
from refimpl.cni.plugins.checks import previous, valid_pairs
from refimpl.cni.plugins.errors import CHANGED, EXHAUSTED, EXISTS
from refimpl.cni.plugins.ranges import Range, RangeSet, parse
from refimpl.cni.plugins.results import shape
from refimpl.cni.plugins.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.request import Call
    from refimpl.cni.plugins.store import Address, Key

__all__ = ["add", "check", "delete", "gc", "status"]

DATA_DIR = "/var/lib/cni/networks"


def _store(call: Call) -> Store:
    folder = call.config.get("ipam", {}).get("dataDir", "")
    if not isinstance(folder, str):
        raise CniError(INVALID_CONFIG, f"ipam.dataDir is {folder!r}; it has to be a string")
    return Store(call, os.path.join(folder or DATA_DIR, call.name))


def _sets(call: Call) -> list[RangeSet]:
    return parse(call.config, bool(call.breach("any-range")))


def add(call: Call) -> dict[str, Any]:
    """Reserves an address of every range set; all or none. Raises CniError."""
    sets = _sets(call)
    wanted = requested.by_set(call, sets)
    result = {"ips": [], **_rest(call)}
    store = _store(call)
    store.make()
    call.point("start")
    with store:
        store.sweep()
        used = store.entries()
        key = (call.container_id, call.ifname)
        mine = [name for name, owner in used.values() if owner == key]
        if mine:
            raise CniError(EXISTS, f"container {key[0]} has {mine[0]} for {key[1]}; DEL it first")
        result["ips"] = _reserve(call, store, sets, wanted, set(used))
    call.point("reserve")
    if call.breach("ipam-interfaces"):
        result["interfaces"] = [{"name": call.ifname}]
        for ip in result["ips"]:
            ip["interface"] = 0
    return shape(result, call.version)


def _reserve(
    call: Call,
    store: Store,
    sets: list[RangeSet],
    wanted: list[int | None],
    used: set[Address],
) -> list[dict[str, Any]]:
    taken: list[tuple[int, Range, int]] = []
    try:
        for number, found in enumerate(sets):
            each, value = _choose(call, store, number, found, wanted[number], used)
            if call.breach("no-lock"):
                _dawdle()
            store.take((each.family, value), (call.container_id, call.ifname))
            taken.append((number, each, value))
            used.add((each.family, value))
            if wanted[number] is None:
                store.remember(number, (each.family, value))
            call.point("address")
    except CniError:
        for _, each, value in [] if call.breach("dual-leak") else taken:
            store.free(text(each.family, value))
        raise
    return [
        {"address": each.cidr(value), "gateway": text(each.family, each.gateway)}
        for _, each, value in taken
    ]


def _dawdle() -> None:
    import time

    time.sleep(0.05)  # long enough for every rival to have looked


def _choose(
    call: Call,
    store: Store,
    number: int,
    found: RangeSet,
    wanted: int | None,
    used: set[Address],
) -> tuple[Range, int]:
    if wanted is not None:
        each = found.find(found.family, wanted)
        if each is not None and (found.family, wanted) not in used:
            return each, wanted
        if not call.breach("ignore-request"):
            raise CniError(
                INVALID_CONFIG, f"{text(found.family, wanted)} was asked for and is taken"
            )
    for each, value in found.after(store.latest(number)):
        if (each.family, value) not in used:
            return each, value
    raise CniError(
        EXHAUSTED,
        f"network {call.name} has no free address left in range set {number}; "
        "DEL an attachment or widen the range",
    )


def _rest(call: Call) -> dict[str, Any]:
    """Routes and DNS of the configuration. Raises CniError."""
    ipam = call.config.get("ipam", {})
    found: dict[str, Any] = {}
    try:
        given = ipam.get("routes")
        if not isinstance(given, list | None):
            raise ValueError("it is no array")
        routes = [_route(each) for each in given or ()]
    except ValueError as error:
        raise CniError(INVALID_CONFIG, f"ipam.routes cannot be used: {error}") from None
    if routes:
        found["routes"] = routes
    if ipam.get("resolvConf", "") != "":
        found["dns"] = requested.resolv_conf(ipam["resolvConf"])
    return found


def _route(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"{given!r} is no object with a dst")
    if given.get("gw"):
        address(given["gw"])
    return {**given, "dst": network_of(given.get("dst"))}


def delete(call: Call) -> None:
    """Frees what the attachment holds, by its key alone: the ranges may have changed. Raises
    CniError when an entry cannot be removed."""
    store = _store(call)
    if call.breach("del-parses-ranges"):
        parse(call.config)
    if call.breach("del-makes-store"):
        store.make()
    if not store.exists() or call.breach("no-release"):
        return
    key = (call.container_id, call.ifname)
    with store:
        store.sweep()
        entries = store.entries().values()
        names = [name for name, owner in entries if owner and _is(call, owner, key)]
        # Entries of old versions have no ifname: they count when nothing else fits.
        names = names or [name for name, owner in entries if owner == (key[0], "")]
        call.point("reserve")
        _free_all(call, store, names)


def _is(call: Call, owner: Key, key: Key) -> bool:
    if call.breach("del-by-case"):
        return owner[0].lower() == key[0].lower()
    return owner[0] == key[0] if call.breach("del-by-id") else owner == key


def _free_all(call: Call, store: Store, names: list[str]) -> None:
    troubles = []
    for name in names:
        trouble = store.free(name)
        troubles += [trouble] if trouble else []
        if trouble and call.breach("gc-stops"):
            break
    if troubles and not call.breach("gc-silent"):
        raise CniError(IO, f"entries of {store.folder} cannot be removed", "; ".join(troubles))


def check(call: Call) -> None:
    """Every address of prevResult that lies in the ranges is reserved for this attachment, and
    there is one at least. Raises CniError."""
    if call.breach("check-nothing"):
        return
    result = previous(call)
    sets, key = _sets(call), (call.container_id, call.ifname)
    entries = _store(call).entries()
    mine = {place for place, (_, owner) in entries.items() if owner in (key, (key[0], ""))}
    if not mine:
        raise CniError(CHANGED, f"no address is reserved for container {key[0]}, {key[1]} any more")
    if call.breach("check-by-id"):
        return
    held = {cidr(ip["address"])[:2] for ip in result.get("ips", ())}
    ours = {place for place in held if any(found.find(*place) for found in sets)}
    # Addresses of the container's other interfaces may stand in the same result.
    known = {place for place, (_, owner) in entries.items() if owner and owner[0] == key[0]}
    for family, value in sorted((mine - ours) | (ours - known)):
        where = "prevResult" if (family, value) in mine else "the store"
        raise CniError(CHANGED, f"{text(family, value)} of container {key[0]} is not in {where}")


def gc(call: Call) -> None:
    """Frees every reservation of this network whose exact pair is not in the list; an entry of an
    old version goes when its container id is in no pair. Raises CniError at the end for what could
    not be removed."""
    pairs = valid_pairs(call)
    if call.breach("gc-makes-store"):
        _store(call).make()
    if pairs is None or call.breach("gc-nothing"):
        return
    stores = [_store(call)]
    if call.breach("gc-other-networks"):
        above = os.path.dirname(stores[0].folder)
        stores += [Store(call, os.path.join(above, name)) for name in os.listdir(above)]
    for store in stores:
        if store.exists():
            with store:
                store.sweep()
                _free_all(call, store, _stale(call, store, pairs))


def _stale(call: Call, store: Store, pairs: set[Key]) -> list[str]:
    ids = {container for container, _ in pairs}
    found = []
    for name, owner in sorted(store.entries().values()):
        valid = owner in pairs or (owner is not None and owner[1] == "" and owner[0] in ids)
        if owner is not None and call.breach("del-by-id"):
            valid = owner[0] in ids
        if owner is not None and call.breach("gc-by-prefix"):
            valid = any(owner[0].startswith(each) for each in ids)
        if not valid or call.breach("gc-everything"):
            found.append(name)
    if call.breach("gc-internals"):
        found += [n for n in os.listdir(store.folder) if n.startswith(("lock", "last_reserved"))]
    return found


def status(call: Call) -> None:
    """Ready when the store can be written and every range set has an address left. Raises CniError
    (50)."""
    if call.breach("status-always"):
        return
    sets, store = _sets(call), _store(call)
    place = store.folder
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place) or not os.access(place, os.W_OK | os.X_OK):
        raise CniError(
            NOT_AVAILABLE, f"not ready for ADD: the store {store.folder} cannot be written"
        )
    used = set(store.entries())
    for number, found in enumerate(sets):
        if found.free(used) < 1:
            raise CniError(
                NOT_AVAILABLE,
                f"not ready for ADD: range set {number} of network "
                f"{call.name} has no free address left",
            )
