"""refimpl.dra.quantity, as apimachinery reads quantities."""

from __future__ import annotations

import pytest

from refimpl.dra.quantity import Quantity


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1", "1"),
        ("1.5", "1.5"),
        ("-1500m", "-1.5"),
        ("1Ki", "1024"),
        ("1.5Ki", "1536"),
        ("1e3", "1000"),
        ("1E-3", "0.001"),
        ("1E", "1000000000000000000"),
        ("1.0000000001", "1.000000001"),
        ("-1.0000000001", "-1.000000001"),
        ("1000E", "9223372036854775807"),
        ("-1000E", "-9223372036854775807"),
        (".5", "0.5"),
        ("5.", "5"),
        ("k", "0"),
        ("+1n", "0.000000001"),
    ],
)
def test_a_quantity_is_exact(text: str, shown: str) -> None:
    """More than nine decimals are rounded away from zero, more than 2^63-1 is that."""
    assert str(Quantity.parse(text)) == shown


@pytest.mark.parametrize(
    "text", ["", "1 k", "1kk", "1e", "a", "1Ki5", "0x1", "1_000", "1.2.3", "²"]
)
def test_what_is_no_quantity_is_told(text: str) -> None:
    """With what it has to be."""
    with pytest.raises(ValueError, match="is no quantity: a number and one of"):
        Quantity.parse(text)


def test_amounts_decide() -> None:
    """Not how they are written."""
    assert Quantity.parse("1k") == Quantity.parse("1e3") < Quantity.parse("1Ki")
    assert Quantity.parse("1500m").whole is None
    assert Quantity.parse("-1").sign == -1
