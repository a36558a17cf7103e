"""Addresses without a network: a pool."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from refimpl.cri.state.models import Condition, Sandbox

__all__ = ["AddressPool"]


class AddressPool:
    """A network of 16 bits, by its first two numbers; no address is given twice before all of them
    were."""

    def __init__(self, network: str = "10.88") -> None:
        self._network = network
        self._numbers = itertools.count(2)

    def attach(self, sandbox: Sandbox) -> Sequence[str]:
        """The next one."""
        number = next(self._numbers)
        return [f"{self._network}.{number >> 8 & 255}.{number & 255}"]

    def detach(self, sandbox: Sandbox) -> None:
        """Nothing is to be given back."""

    def condition(self) -> Condition:
        """It holds: there is always one left."""
        return Condition()
