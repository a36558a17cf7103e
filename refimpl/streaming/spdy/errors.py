"""What ends a connection."""

from __future__ import annotations

__all__ = ["Broken"]


class Broken(Exception):
    """The peer sent what is no SPDY/3.1: the connection cannot go on, as header blocks depend on
    all that came before them."""
