"""The ranges of an IPAM configuration, and which address comes next in them."""

from __future__ import annotations

from refimpl.cni.format.addresses import address, first, last, network, text, width
from refimpl.cni.format.errors import INVALID_CONFIG, CniError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Range", "RangeSet", "parse"]


class Range:
    """Addresses `low` to `high` of a subnet; `gateway` is never given away."""

    __slots__ = ("family", "gateway", "high", "low", "prefix", "subnet")

    def __init__(self, given: Any, unchecked: bool = False) -> None:
        if not isinstance(given, dict):
            raise ValueError(f"{given!r} is no object with a subnet")
        self.family, self.subnet, self.prefix = network(given.get("subnet"))
        if width(self.family) - self.prefix < 2 and not unchecked:
            raise ValueError(f"subnet {given['subnet']} is too small to give addresses from")
        end = last(self.family, self.subnet, self.prefix)
        self.low = self._inside(given, "rangeStart", self.subnet + 1, unchecked)
        self.high = self._inside(given, "rangeEnd", end - 1, unchecked)
        self.gateway = self._inside(given, "gateway", self.subnet + 1, unchecked)
        if self.low > self.high and not unchecked:
            raise ValueError(f"rangeStart {given.get('rangeStart')} comes after the range's end")

    def _inside(self, given: Any, key: str, default: int, unchecked: bool) -> int:
        if given.get(key) in (None, ""):
            return default
        family, value = address(given[key])
        inside = family == self.family and first(family, value, self.prefix) == self.subnet
        if not inside and not unchecked:
            raise ValueError(f"{key} {given[key]} lies outside of subnet {given['subnet']}")
        return value

    def usable(self, value: int) -> bool:
        """Whether an address can be given away: in the range, no gateway, network, broadcast."""
        end = last(self.family, self.subnet, self.prefix)
        broadcast = end if self.family == 4 else -1
        fits = self.low <= value <= self.high
        return fits and value not in (self.gateway, self.subnet, broadcast)

    def cidr(self, value: int) -> str:
        """An address of the range with the subnet's prefix length."""
        return f"{text(self.family, value)}/{self.prefix}"


class RangeSet:
    """Ranges of one family that stand for each other: an attachment gets one address of a set."""

    def __init__(self, ranges: list[Range]) -> None:
        self.ranges = ranges
        self.family = ranges[0].family

    def find(self, family: int, value: int) -> Range | None:
        """The range that may give this address away."""
        fits = (each for each in self.ranges if each.family == family and each.usable(value))
        return next(fits, None)

    def after(self, latest: int | None) -> Iterator[tuple[Range, int]]:
        """Every usable address once, beginning behind the one that was given away last."""
        at, start = 0, self.ranges[0].low
        for number, each in enumerate(self.ranges):
            if latest is not None and each.low <= latest <= each.high:
                at, start = number, latest + 1
        order = self.ranges[at:] + self.ranges[:at]
        yield from _usable(order[0], start, order[0].high)
        for each in order[1:]:
            yield from _usable(each, each.low, each.high)
        yield from _usable(order[0], order[0].low, start - 1)

    def free(self, used: set[tuple[int, int]]) -> int:
        """How many addresses are left, without counting them one by one."""
        total = 0
        for each in self.ranges:
            reserved = {each.gateway, each.subnet}
            if each.family == 4:
                reserved.add(last(4, each.subnet, each.prefix))
            total += each.high - each.low + 1 - sum(each.low <= v <= each.high for v in reserved)
            total -= sum(family == each.family and each.usable(value) for family, value in used)
        return total


def _usable(each: Range, low: int, high: int) -> Iterator[tuple[Range, int]]:
    value = low
    while value <= high:
        if each.usable(value):
            yield each, value
        value += 1


def parse(config: dict[str, Any], unchecked: bool = False) -> list[RangeSet]:
    """The range sets of a request: runtimeConfig.ipRanges, ipam.subnet, ipam.ranges. Raises
    CniError (7) for anything that cannot be given addresses from."""
    ipam = config.get("ipam", {})
    given = config.get("runtimeConfig", {}).get("ipRanges")
    single = [[{k: ipam[k] for k in ("subnet", "rangeStart", "rangeEnd", "gateway") if k in ipam}]]
    try:
        sets = [
            _set(each, unchecked)
            for part in (given, single if "subnet" in ipam else [], ipam.get("ranges"))
            for each in _list(part)
        ]
        if not sets:
            raise ValueError("there is no range: give ipam.ranges or ipam.subnet")
        if not unchecked:
            _check_apart([each for ranges in sets for each in ranges.ranges])
    except ValueError as error:
        raise CniError(INVALID_CONFIG, f"the ranges of ipam cannot be used: {error}") from None
    return sets


def _list(given: object) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise ValueError(f"{given!r} is no array")
    return given


def _set(given: object, unchecked: bool) -> RangeSet:
    ranges = [Range(each, unchecked) for each in _list(given)]
    if not ranges:
        raise ValueError("a range set is empty")
    if len({each.family for each in ranges}) > 1:
        raise ValueError("a range set mixes IPv4 and IPv6; make a set of each")
    return RangeSet(ranges)


def _check_apart(ranges: list[Range]) -> None:
    ordered = sorted(ranges, key=lambda each: (each.family, each.low))
    for one, other in zip(ordered, ordered[1:], strict=False):  # noqa: RUF007
        if one.family == other.family and other.low <= one.high:
            raise ValueError(f"two ranges overlap at {text(other.family, other.low)}")
