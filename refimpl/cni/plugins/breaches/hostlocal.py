"""Breaches of the IPAM plugin."""

from __future__ import annotations

import os
import time

from refimpl.cni.format.addresses import address
from refimpl.cni.format.errors import IO, CniError
from refimpl.cni.plugins.breaches.shared import only_read_the_list
from refimpl.cni.plugins.breaches.wrapping import dies, excused, first, gives, skipped, then
from refimpl.cni.plugins.kinds import hostlocal, requested
from refimpl.cni.plugins.kinds.ranges import parse
from refimpl.cni.plugins.kinds.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.breaches.wrapping import Act, Breaches
    from refimpl.cni.plugins.call import Call
    from refimpl.cni.plugins.kinds.ranges import RangeSet
    from refimpl.cni.plugins.kinds.store import Address, Key

__all__ = ["BREACHES"]

_PATIENCE_S = 5.0
_OWN_FILES = ("lock", "last_reserved")


class Unlocked(Store):
    """Takes addresses without a lock and over one another."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.scratch += str(os.getpid())

    def __enter__(self) -> Store:
        return self

    def take(self, place: Address, key: Key) -> None:
        """Waits until every rival has looked."""
        time.sleep(0.05)
        super().take(place, key)


class LockedByFile(Store):
    """Its lock is a file, which a killed process leaves behind."""

    def __enter__(self) -> Store:
        deadline = time.monotonic() + _PATIENCE_S
        held = self.path("lock.held")
        while True:
            try:
                os.close(os.open(held, os.O_CREAT | os.O_EXCL, 0o600))
                return self
            except FileExistsError:
                if time.monotonic() > deadline:
                    raise CniError(IO, f"{held} is held by another") from None
                time.sleep(0.01)

    def __exit__(self, *rest: object) -> None:
        os.unlink(self.path("lock.held"))


class Strict(Store):
    """Breaks on a file that is none of its own, or on an empty one."""

    def entries(self) -> dict[Address, tuple[str, Key | None]]:
        """As any store; a mistake of the plugin where it cannot read a file."""
        for name in self.names():
            if name.partition(".")[0] not in ("lock", "last_reserved_ip"):
                try:
                    address(name)
                except ValueError:
                    raise RuntimeError(f"foreign file {name}") from None
                if not os.path.getsize(self.path(name)):
                    raise RuntimeError(f"empty file {name}")
        return super().entries()


def _kept_by(kind: type[Store]) -> Act:
    """The store is one of another kind."""
    return then(lambda _call, store: kind(store.folder))


def _ask_elsewhere(call: Call, texts: list[Any]) -> list[Any]:
    return requested.in_variable(call) or texts


def _choose_another(
    proceed: Act,
    call: Call,
    store: Store,
    number: int,
    ranges: RangeSet,
    wanted: int | None,
    used: set[Address],
) -> Any:
    try:
        return proceed(call, store, number, ranges, wanted, used)
    except CniError:
        return proceed(call, store, number, ranges, None, used)


def _any_place(proceed: Act, call: Call, sets: list[RangeSet]) -> Any:
    try:
        return proceed(call, sets)
    except CniError:
        return [None] * len(sets)


def _name_an_interface(call: Call, document: dict[str, Any]) -> None:
    if "ips" in document:
        document["interfaces"] = [{"name": call.ifname}]
        for ip in document["ips"]:
            ip["interface"] = 0


def _same_but_for_case(_proceed: Act, _call: Call, owner: Key, key: Key) -> bool:
    return owner[0].lower() == key[0].lower()


def _same_id(_proceed: Act, _call: Call, owner: Key, key: Key) -> bool:
    return owner[0] == key[0]


def _valid_id(_proceed: Act, _call: Call, owner: Key | None, pairs: set[Key]) -> bool:
    return owner is not None and owner[0] in {container for container, _ in pairs}


def _valid_prefix(_proceed: Act, _call: Call, owner: Key | None, pairs: set[Key]) -> bool:
    return owner is not None and any(owner[0].startswith(container) for container, _ in pairs)


def _and_own_files(proceed: Act, call: Call, store: Store, pairs: set[Key]) -> list[str]:
    names: list[str] = proceed(call, store, pairs)
    return names + [name for name in store.names() if name.startswith(_OWN_FILES)]


def _other_networks(_call: Call, stores: list[Store]) -> list[Store]:
    above = os.path.dirname(stores[0].folder)
    return [*stores, *(Store(os.path.join(above, name)) for name in os.listdir(above))]


def _until_the_first(proceed: Act, call: Call, store: Store, names: list[str]) -> None:
    for name in names:
        proceed(call, store, [name])


BREACHES: Breaches = {
    "crash-after": {
        hostlocal.reserve: dies(before="start", after="reserve"),
        hostlocal.take: dies(after="address"),
        hostlocal.free_all: dies(before="reserve"),
    },
    "no-lock": {hostlocal.store_of: _kept_by(Unlocked)},
    "lock-file": {hostlocal.store_of: _kept_by(LockedByFile)},
    "store-strict": {hostlocal.store_of: _kept_by(Strict)},
    "any-range": {hostlocal.range_sets: lambda _p, call: parse(call.config, unchecked=True)},
    "env-over-args": {requested.asked: then(_ask_elsewhere)},
    "ignore-request": {requested.by_set: _any_place, hostlocal.choose: _choose_another},
    "dual-leak": {hostlocal.give_back: skipped},
    "ipam-interfaces": {hostlocal.add: then(_name_an_interface)},
    "del-parses-ranges": {hostlocal.delete: first(lambda call: parse(call.config))},
    "del-makes-store": {hostlocal.delete: first(lambda call: hostlocal.store_of(call).make())},
    "no-release": {hostlocal.delete: skipped},
    "del-by-case": {hostlocal.is_owner: _same_but_for_case},
    "del-by-id": {hostlocal.is_owner: _same_id, hostlocal.is_valid: _valid_id},
    "check-nothing": {hostlocal.check: skipped},
    "check-by-id": {hostlocal.check_same: skipped},
    "gc-makes-store": {hostlocal.gc: first(lambda call: hostlocal.store_of(call).make())},
    "gc-nothing": {hostlocal.gc: only_read_the_list},
    "gc-other-networks": {hostlocal.stores: then(_other_networks)},
    "gc-everything": {hostlocal.is_valid: gives(False)},
    "gc-by-prefix": {hostlocal.is_valid: _valid_prefix},
    "gc-internals": {hostlocal.stale: _and_own_files},
    "gc-stops": {hostlocal.free_all: _until_the_first},
    "gc-silent": {hostlocal.free_all: excused(lambda: None)},
    "status-always": {hostlocal.status: skipped},
}
