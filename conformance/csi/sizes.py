"""How large volumes are asked for: as small as the driver makes them, never above what it tells."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from conformance.csi.settings import CsiSettings
from refimpl.csi.api import csi_pb2 as pb

__all__ = ["Sizes"]

# Bytes, smallest first: room for a file system and some files, what disks are sold by, csi-sanity's
# own. No RPC has to tell the smallest volume, so they are tried.
_USUAL = (64 << 20, 1 << 30, 10 << 30)


class Sizes:
    """capacity: what GetCapacity tells, empty where it tells nothing. makes: whether the driver
    makes a volume of so many bytes."""

    def __init__(
        self,
        settings: CsiSettings,
        capacity: Callable[[], pb.GetCapacityResponse],
        makes: Callable[[int], bool],
    ) -> None:
        self._settings, self._capacity, self._makes = settings, capacity, makes

    @functools.cached_property
    def usual(self) -> int:
        """Bytes of a volume whose case is not about sizes: what the user chose, or else the
        smallest size that the driver makes."""
        if self._settings.volume_size:
            return self._settings.volume_size
        sizes = list(dict.fromkeys(map(self._bounded, _USUAL)))
        return next((size for size in sizes if len(sizes) == 1 or self._makes(size)), sizes[0])

    @property
    def known(self) -> int:
        """The usual size as far as it is known: to find it out makes volumes."""
        return self._settings.volume_size or int(self.__dict__.get("usual", 0))

    @property
    def larger(self) -> int:
        """Bytes to expand a volume to; skips the case where the driver tells that none has so
        many."""
        return self._settings.expand_size or self.at_least(2 * self.usual)

    def at_least(self, size: int) -> int:
        """That many bytes, or the usual size where that is more; skips the case where the driver
        tells that no volume has so many."""
        wanted, largest = max(size, self.usual), self.maximum
        if largest and wanted > largest:
            pytest.skip(f"no volume has {wanted} bytes (maximum_volume_size is {largest})")
        return wanted

    @property
    def minimum(self) -> int:
        """Bytes of the smallest volume, 0 where the driver does not tell."""
        return self._capacity().minimum_volume_size.value

    @property
    def maximum(self) -> int:
        """Bytes of the largest volume, 0 where the driver does not tell."""
        return self._capacity().maximum_volume_size.value

    def _bounded(self, size: int) -> int:
        size = max(size, self.minimum)
        return min(size, self.maximum) if self.maximum > 0 else size
