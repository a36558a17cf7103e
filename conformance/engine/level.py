"""How much a requirement binds."""

from __future__ import annotations

import enum

__all__ = ["MAY", "MUST", "SHOULD", "Level"]


class Level(enum.IntEnum):
    """Strictest first: a failed SHOULD or MAY only warns."""

    MUST = 1
    SHOULD = 2
    MAY = 3


MUST, SHOULD, MAY = Level
