"""The IPAM plugin: addresses from ranges, kept in a directory of this machine.

Configuration: ipam.ranges or ipam.subnet, routes, resolvConf, dataDir; an address can be asked for
by runtimeConfig.ips, args.cni.ips or CNI_ARGS IP, the first of them that is given counts.
"""

from __future__ import annotations

import os

from refimpl.cni.format.addresses import address, cidr, network_of, text
from refimpl.cni.format.errors import INVALID_CONFIG, IO, NOT_AVAILABLE, CniError
from refimpl.cni.plugins.checks import previous, valid_pairs
from refimpl.cni.plugins.errors import CHANGED, EXHAUSTED, EXISTS
from refimpl.cni.plugins.kinds import requested
from refimpl.cni.plugins.kinds.ranges import Range, RangeSet, parse
from refimpl.cni.plugins.kinds.store import Store
from refimpl.cni.plugins.results import shape
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call
    from refimpl.cni.plugins.kinds.store import Address, Key

    Choice = tuple[Range, int]

__all__ = ["add", "check", "delete", "gc", "status"]

DATA_DIR = "/var/lib/cni/networks"


@step
def store_of(call: Call) -> Store:
    """The store of the call's network. Raises CniError."""
    folder = call.config.get("ipam", {}).get("dataDir", "")
    if not isinstance(folder, str):
        raise CniError(INVALID_CONFIG, f"ipam.dataDir is {folder!r}; it has to be a string")
    return Store(os.path.join(folder or DATA_DIR, call.name))


@step
def range_sets(call: Call) -> list[RangeSet]:
    """The ranges of the configuration. Raises CniError."""
    return parse(call.config)


@step
def add(call: Call) -> dict[str, Any]:
    """Reserves an address of every range set; all or none. Raises CniError."""
    sets = range_sets(call)
    wanted = requested.by_set(call, sets)
    result = {"ips": [], **_routes_and_dns(call)}
    store = store_of(call)
    store.make()
    choices = reserve(call, store, sets, wanted)
    result["ips"] = [
        {"address": each.cidr(value), "gateway": text(each.family, each.gateway)}
        for each, value in choices
    ]
    return shape(result, call.version)


@step
def reserve(
    call: Call, store: Store, sets: list[RangeSet], wanted: list[int | None]
) -> list[Choice]:
    """An address of each range set, reserved. Raises CniError; nothing is reserved then."""
    choices: list[Choice] = []
    with store:
        store.sweep()
        used = _reserved(call, store)
        try:
            for number, ranges in enumerate(sets):
                each, value = choose(call, store, number, ranges, wanted[number], used)
                take(call, store, each, value)
                choices.append((each, value))
                used.add((each.family, value))
                if wanted[number] is None:
                    store.remember(number, (each.family, value))
        except CniError:
            give_back(call, store, choices)
            raise
    return choices


def _reserved(call: Call, store: Store) -> set[Address]:
    """What is reserved; raises CniError when this attachment has an address already."""
    entries = store.entries()
    key = (call.container_id, call.ifname)
    own = [name for name, owner in entries.values() if owner == key]
    if own:
        raise CniError(EXISTS, f"container {key[0]} has {own[0]} for {key[1]}; DEL it first")
    return set(entries)


@step
def take(call: Call, store: Store, each: Range, value: int) -> None:
    """Reserves one address for the attachment. Raises CniError."""
    store.take((each.family, value), (call.container_id, call.ifname))


@step
def give_back(call: Call, store: Store, choices: list[Choice]) -> None:  # noqa: ARG001
    """Frees what was reserved before the failure."""
    for each, value in choices:
        store.free(text(each.family, value))


@step
def choose(
    call: Call,
    store: Store,
    number: int,
    ranges: RangeSet,
    wanted: int | None,
    used: set[Address],
) -> Choice:
    """The address wanted, or the next free one, and the range it lies in. Raises CniError."""
    if wanted is not None:
        each = ranges.find(ranges.family, wanted)
        if each is None or (ranges.family, wanted) in used:
            address_text = text(ranges.family, wanted)
            raise CniError(INVALID_CONFIG, f"{address_text} was asked for and is taken")
        return each, wanted
    for each, value in ranges.after(store.latest(number)):
        if (each.family, value) not in used:
            return each, value
    raise CniError(
        EXHAUSTED,
        f"network {call.name} has no free address left in range set {number}; "
        "DEL an attachment or widen the range",
    )


def _routes_and_dns(call: Call) -> dict[str, Any]:
    """Routes and DNS of the configuration. Raises CniError."""
    ipam = call.config.get("ipam", {})
    members: dict[str, Any] = {}
    try:
        given = ipam.get("routes")
        if not isinstance(given, list | None):
            raise ValueError("it is no array")
        routes = [_route(each) for each in given or ()]
    except ValueError as error:
        raise CniError(INVALID_CONFIG, f"ipam.routes cannot be used: {error}") from None
    if routes:
        members["routes"] = routes
    if ipam.get("resolvConf", "") != "":
        members["dns"] = requested.resolv_conf(ipam["resolvConf"])
    return members


def _route(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"{given!r} is no object with a dst")
    if given.get("gw"):
        address(given["gw"])
    return {**given, "dst": network_of(given.get("dst"))}


@step
def delete(call: Call) -> None:
    """Frees what the attachment holds, by its key alone: the ranges may have changed. Raises
    CniError when an entry cannot be removed."""
    store = store_of(call)
    if not store.exists():
        return
    key = (call.container_id, call.ifname)
    with store:
        store.sweep()
        entries = store.entries().values()
        names = [name for name, owner in entries if owner and is_owner(call, owner, key)]
        # Entries of old versions have no ifname: they count when nothing else fits.
        names = names or [name for name, owner in entries if owner == (key[0], "")]
        free_all(call, store, names)


@step
def is_owner(call: Call, owner: Key, key: Key) -> bool:  # noqa: ARG001
    """Whether an entry is that of the attachment."""
    return owner == key


@step
def free_all(call: Call, store: Store, names: list[str]) -> None:  # noqa: ARG001
    """Removes entries, as many as can be. Raises CniError for those that cannot."""
    troubles = [trouble for trouble in map(store.free, names) if trouble]
    if troubles:
        raise CniError(IO, f"entries of {store.folder} cannot be removed", "; ".join(troubles))


@step
def check(call: Call) -> None:
    """Every address of prevResult that lies in the ranges is reserved for this attachment, and
    there is one at least. Raises CniError."""
    result = previous(call)
    sets, key = range_sets(call), (call.container_id, call.ifname)
    entries = store_of(call).entries()
    own = {place for place, (_, owner) in entries.items() if owner in (key, (key[0], ""))}
    if not own:
        raise CniError(CHANGED, f"no address is reserved for container {key[0]}, {key[1]} any more")
    # Addresses of the container's other interfaces may stand in the same result.
    known = {place for place, (_, owner) in entries.items() if owner and owner[0] == key[0]}
    named = {cidr(ip["address"])[:2] for ip in result.get("ips", ())}
    ours = {place for place in named if any(ranges.find(*place) for ranges in sets)}
    check_same(call, own - ours, ours - known)


@step
def check_same(call: Call, unsaid: set[Address], lost: set[Address]) -> None:
    """Raises CniError for an address that is reserved and not in prevResult, or the reverse."""
    for family, value in sorted(unsaid | lost):
        where = "prevResult" if (family, value) in unsaid else "the store"
        raise CniError(
            CHANGED, f"{text(family, value)} of container {call.container_id} is not in {where}"
        )


@step
def gc(call: Call) -> None:
    """Frees every reservation of this network whose exact pair is not in the list; an entry of an
    old version goes when its container id is in no pair. Raises CniError at the end for what could
    not be removed."""
    pairs = valid_pairs(call)
    if pairs is None:
        return
    for store in stores(call):
        if store.exists():
            with store:
                store.sweep()
                free_all(call, store, stale(call, store, pairs))


@step
def stores(call: Call) -> list[Store]:
    """The stores that GC looks into: that of the network. Raises CniError."""
    return [store_of(call)]


@step
def stale(call: Call, store: Store, pairs: set[Key]) -> list[str]:
    """The names of the entries that GC removes."""
    entries = sorted(store.entries().values())
    return [name for name, owner in entries if not is_valid(call, owner, pairs)]


@step
def is_valid(call: Call, owner: Key | None, pairs: set[Key]) -> bool:  # noqa: ARG001
    """Whether an entry belongs to one of the attachments that GC has to spare."""
    ids = {container for container, _ in pairs}
    return owner in pairs or (owner is not None and owner[1] == "" and owner[0] in ids)


@step
def status(call: Call) -> None:
    """Ready when the store can be written and every range set has an address left. Raises CniError
    (50)."""
    sets, store = range_sets(call), store_of(call)
    place = store.folder
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place) or not os.access(place, os.W_OK | os.X_OK):
        raise CniError(
            NOT_AVAILABLE, f"not ready for ADD: the store {store.folder} cannot be written"
        )
    used = set(store.entries())
    for number, ranges in enumerate(sets):
        if ranges.free(used) < 1:
            raise CniError(
                NOT_AVAILABLE,
                f"not ready for ADD: range set {number} of network "
                f"{call.name} has no free address left",
            )
