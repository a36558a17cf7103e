"""Checkpoints: in what runtimes differ (D70 of the contract)."""

from __future__ import annotations

import attrs

__all__ = ["CheckpointChoices"]


@attrs.frozen(kw_only=True)
class CheckpointChoices:
    """None so far: all profiles do the same."""
