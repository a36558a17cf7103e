"""Ids in the order of their arrival, to be walked from any position at the cost of what is read."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

_BUCKET = 256


class Order:
    """Positions are numbers that only grow and are never given twice, so that reading on
    from a position neither repeats nor skips what stayed in place (paging under mutation)."""

    __slots__ = ("_buckets", "_numbers", "_positions", "generation", "next_position")

    def __init__(self) -> None:
        self._buckets: dict[int, dict[int, str]] = {}
        self._numbers: list[int] = []
        self._positions: dict[str, int] = {}
        self.next_position = 0
        self.generation = 0
        """Grows with every change."""

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, key: str) -> bool:
        return key in self._positions

    def position(self, key: str) -> int:
        """Where the key stands; KeyError if it does not."""
        return self._positions[key]

    def append(self, key: str) -> None:
        """Put a new key at the end; a known key keeps its place."""
        if key in self._positions:
            return
        position = self.next_position
        self.next_position += 1
        self.generation += 1
        number = position // _BUCKET
        bucket = self._buckets.get(number)
        if bucket is None:
            bucket = self._buckets[number] = {}
            insort(self._numbers, number)
        bucket[position] = key
        self._positions[key] = position

    def remove(self, key: str) -> None:
        """Take a key out; an unknown one is ignored."""
        position = self._positions.pop(key, None)
        if position is None:
            return
        self.generation += 1
        number = position // _BUCKET
        bucket = self._buckets[number]
        del bucket[position]
        if not bucket:
            del self._buckets[number]
            del self._numbers[bisect_left(self._numbers, number)]

    def walk(self, start: int = 0) -> Iterator[tuple[int, str]]:
        """(position, key) from `start` on, rising. The order must not change during the walk."""
        first = start // _BUCKET
        for number in self._numbers[bisect_left(self._numbers, first) :]:
            bucket = self._buckets[number]
            if number > first:
                yield from bucket.items()
            else:
                yield from (item for item in bucket.items() if item[0] >= start)
