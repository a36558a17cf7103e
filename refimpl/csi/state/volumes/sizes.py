"""How large a volume becomes, and whether its pool has room (CSI 1.13, CapacityRange). Bytes."""

from __future__ import annotations

from collections.abc import Mapping

from refimpl.csi.state.models import Access, CapacityRange
from refimpl.csi.state.rules import invalid, quoted
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.tables import DriverTables
from refimpl.wire.status import Code, Refused

Pool = tuple[str, str]
"""(value of the pool parameter, zone or "" where zones share one pool)"""


def fitting(
    settings: DriverSettings,
    requested: CapacityRange | None,
    floor: int = 0,
    access: Access = "mount",
) -> int:
    """The smallest size in the range that the driver can make and that holds `floor` bytes of a
    source. OUT_OF_RANGE if there is none."""
    if requested is None:
        return rounded(settings, max(floor or settings.default_size, settings.minimum), access)
    size = rounded(settings, max(requested.required, floor, settings.minimum, 1), access)
    if requested.limit and size > requested.limit:
        raise Refused(
            Code.OUT_OF_RANGE,
            f"limit_bytes is {requested.limit}, but the smallest volume that fits has {size} bytes"
            f" (required {requested.required}, source {floor}, minimum {settings.minimum}, steps of"
            f" {granule(settings, access)}); raise the limit",
        )
    if settings.maximum and size > settings.maximum:
        raise Refused(
            Code.OUT_OF_RANGE,
            f"{size} bytes are asked for; the largest volume has {settings.maximum} bytes,"
            " see maximum_volume_size of GetCapacity",
        )
    return size


def granule(settings: DriverSettings, access: Access) -> int:
    """Sizes are multiples of this; a device cannot end within one of its sectors."""
    return max(settings.granule, settings.sector) if access == "block" else settings.granule


def rounded(settings: DriverSettings, size: int, access: Access = "mount") -> int:
    """Up to the next multiple of the granule."""
    step = granule(settings, access)
    return -(-size // step) * step


def contains(requested: CapacityRange | None, size: int) -> bool:
    """True if a volume of `size` satisfies the range."""
    if requested is None:
        return True
    return size >= requested.required and (not requested.limit or size <= requested.limit)


def kind_of(settings: DriverSettings, parameters: Mapping[str, str]) -> str | None:
    """The pool the parameters choose; None if there is no such pool."""
    kind = parameters.get(settings.pool_parameter)
    if kind is None:
        return next(iter(settings.pools))
    return kind if kind in settings.pools else None


def known_kind(settings: DriverSettings, parameters: Mapping[str, str]) -> str:
    """As `kind_of`; INVALID_ARGUMENT for an unknown pool."""
    kind = kind_of(settings, parameters)
    if kind is None:
        raise invalid(
            f"parameter {settings.pool_parameter} is {quoted(parameters[settings.pool_parameter])};"
            f" this driver has {', '.join(settings.pools)}"
        )
    return kind


def room(tables: DriverTables, pool: Pool) -> int:
    """Bytes left in a pool, never negative."""
    return max(0, tables.settings.pools.get(pool[0], 0) - tables.charged[pool])


def demand_room(
    tables: DriverTables, pool: Pool, size: int, code: Code = Code.RESOURCE_EXHAUSTED
) -> None:
    """Refuse with `code` what the pool cannot hold besides all it holds already."""
    available = room(tables, pool)
    if size > available:
        raise Refused(
            code,
            f"{size} bytes more are asked of pool {pool[0]!r}, which has {available} left;"
            " delete something or choose another pool",
        )


class Reservation:
    """Room taken under the lock for what the storage is still to make, so that no other call takes
    it meanwhile; whoever records the object, or fails, releases it."""

    def __init__(self, tables: DriverTables, pool: Pool, size: int) -> None:
        self._tables, self._pool, self._size = tables, pool, size
        tables.charged[pool] += size

    def release(self) -> None:
        """Give the room back; a second time changes nothing."""
        with self._tables.lock:
            self._tables.charged[self._pool] -= self._size
            self._size = 0
