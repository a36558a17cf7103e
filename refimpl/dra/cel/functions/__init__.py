"""All functions that an expression may call."""

from __future__ import annotations

from refimpl.dra.cel.functions.amounts import AMOUNTS
from refimpl.dra.cel.functions.conversions import CONVERSIONS
from refimpl.dra.cel.functions.formats import FORMATS
from refimpl.dra.cel.functions.lists import INCLUDES, LISTS
from refimpl.dra.cel.functions.network import NETWORK
from refimpl.dra.cel.functions.operators import OPERATORS
from refimpl.dra.cel.functions.strings import STRINGS
from refimpl.dra.cel.functions.tables import functions
from refimpl.dra.cel.functions.times import TIMES

__all__ = ["FUNCTIONS", "WITH_INCLUDES"]

_TABLES = (OPERATORS, CONVERSIONS, STRINGS, LISTS, TIMES, AMOUNTS, NETWORK, FORMATS)

FUNCTIONS = functions(*_TABLES)
WITH_INCLUDES = functions(*_TABLES, INCLUDES)
"""The same, and includes(): of the gate for attributes that are lists."""
