"""Documents that went through a Go program's maps; tests/live/test_cnitool.py has the real one."""

from decimal import Decimal
from typing import Any

import pytest

from refimpl.cni.runtime.gojson import Struct, as_map, exact, marshal, unmarshal
from refimpl.documents import DocumentError


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        (b"9007199254740993", b"9007199254740992"),
        (b"1.0", b"1"),
        (b"-0.0", b"-0"),
        (b"1e20", b"100000000000000000000"),
        (b"1e21", b"1e+21"),
        (b"123e25", b"1.23e+27"),
        (b"0.000001", b"0.000001"),
        (b"1e-7", b"1e-7"),
        (b"0.1", b"0.1"),
        (b'"<a>&\\u2028\\u00e9"', '"\\u003ca\\u003e\\u0026\\u2028é"'.encode()),
        (b'{"b": 1, "a": [true, null]}', b'{"a":[true,null],"b":1}'),
        (b'"\xff"', '"\ufffd"'.encode()),
    ],
)
def test_a_turn_through_maps_changes_the_text(text: bytes, turned: bytes) -> None:
    """RT-008: float64, sorted members, escapes."""
    assert marshal(unmarshal(text)) == turned


def test_a_struct_keeps_its_order_until_it_is_a_map() -> None:
    """Members of types print as declared."""
    struct = Struct(b=1, a=2)
    assert marshal({"x": struct}) == b'{"x":{"b":1,"a":2}}'
    assert marshal(as_map({"x": struct})) == b'{"x":{"a":2,"b":1}}'


@pytest.mark.parametrize("value", [Decimal("1e400"), 10**400])
def test_what_float64_cannot_hold_is_refused(value: Any) -> None:
    """Go's decoder does so, too."""
    with pytest.raises(ValueError, match="beyond float64"):
        as_map([value])


def test_too_deep_nesting_is_an_error_and_no_crash() -> None:
    """Whoever writes a configuration must not end the runtime."""
    value: list[Any] = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(ValueError, match="too deep"):
        as_map(value)


def test_a_byte_order_mark_is_refused() -> None:
    """As by Go."""
    with pytest.raises(DocumentError, match="byte order mark"):
        exact(b"\xef\xbb\xbf{}", name="x")
