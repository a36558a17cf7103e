"""Whom files belong to, as a container sees it: through its user namespace, and through the ids of
an idmapped mount (user_namespaces(7), mount_setattr(2))."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

__all__ = ["NOBODY", "Ids", "shown"]

NOBODY = 65534
"""Who is in no range (/proc/sys/kernel/overflowuid)."""
_ALL = 4_294_967_295

Range = tuple[int, int, int]
"""The first id inside, the first outside, and how many."""


def _ranges(mappings: Iterable[Any]) -> tuple[Range, ...]:
    return tuple((each.container_id, each.host_id, each.length) for each in mappings)


@attrs.frozen
class Ids:
    """Ranges of users and of groups; none where nothing is mapped."""

    users: tuple[Range, ...] = ()
    groups: tuple[Range, ...] = ()

    @classmethod
    def of(cls, users: Iterable[Any], groups: Iterable[Any]) -> Ids:
        """From IDMappings of CRI."""
        return cls(_ranges(users), _ranges(groups))

    def texts(self) -> dict[str, str]:
        """As /proc has them."""
        sides = {"uid_map": self.users, "gid_map": self.groups}
        return {
            f"/proc/self/{name}": "".join(
                f"{inside:>10} {outside:>10} {length:>10}\n"
                for inside, outside, length in ranges or ((0, 0, _ALL),)
            )
            for name, ranges in sides.items()
        }


def shown(owner: tuple[int, int], mount: Ids, namespace: Ids) -> tuple[int, int]:
    """User and group of a file on the node, as a container sees them."""
    user, group = owner
    return (
        _inside(_outside(user, mount.users), namespace.users),
        _inside(_outside(group, mount.groups), namespace.groups),
    )


def _outside(id: int, ranges: tuple[Range, ...]) -> int:
    if not ranges:
        return id
    found = (out + id - first for first, out, length in ranges if first <= id < first + length)
    return next(found, -1)


def _inside(id: int, ranges: tuple[Range, ...]) -> int:
    if not ranges:
        return NOBODY if id < 0 else id
    found = (first + id - out for first, out, length in ranges if out <= id < out + length)
    return next(found, NOBODY)
