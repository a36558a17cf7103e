"""Events: in what runtimes differ (D30 to D35 of the contract)."""

from __future__ import annotations

import attrs

__all__ = ["EventChoices"]


@attrs.frozen(kw_only=True)
class EventChoices:
    """None so far: all profiles do the same."""
