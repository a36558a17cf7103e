"""Log files: in what runtimes differ (D66 to D69, D97 of the contract)."""

from __future__ import annotations

import attrs

__all__ = ["LogChoices"]


@attrs.frozen(kw_only=True)
class LogChoices:
    """None so far: all profiles do the same."""
