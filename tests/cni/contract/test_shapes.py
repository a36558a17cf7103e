"""The table of members."""

from __future__ import annotations

import pytest

from refimpl.cni.contract import VERSIONS
from refimpl.cni.contract.shapes import SHAPES, Array, Object, known, members


@pytest.mark.parametrize(
    ("shape", "name", "first", "last"),
    [
        ("result", "ip4", "0.1.0", "0.2.0"),
        ("result", "ip6", "0.1.0", "0.2.0"),
        ("result", "interfaces", "0.3.0", "1.1.0"),
        ("result", "ips", "0.3.0", "1.1.0"),
        ("result", "routes", "0.3.0", "1.1.0"),
        ("result", "dns", "0.1.0", "1.1.0"),
        ("address", "version", "0.3.0", "0.4.0"),
        ("interface", "mtu", "1.1.0", "1.1.0"),
        ("interface", "socketPath", "1.1.0", "1.1.0"),
        ("interface", "pciID", "1.1.0", "1.1.0"),
        ("route", "gw", "0.1.0", "1.1.0"),
        ("route", "mtu", "1.1.0", "1.1.0"),
        ("route", "advmss", "1.1.0", "1.1.0"),
        ("route", "priority", "1.1.0", "1.1.0"),
        ("route", "table", "1.1.0", "1.1.0"),
        ("route", "scope", "1.1.0", "1.1.0"),
    ],
)
def test_a_member_is_defined_from_one_version_to_another(
    shape: str, name: str, first: str, last: str
) -> None:
    """Every member that some version lacks."""
    having = [version for version in VERSIONS if name in members(shape, version)]
    assert (having[0], having[-1]) == (first, last)
    assert having == list(VERSIONS[VERSIONS.index(first) : VERSIONS.index(last) + 1])


def test_every_object_named_in_the_table_is_in_the_table() -> None:
    """A reference into nothing would only be found by the document that needs it."""
    for rows in SHAPES.values():
        nodes = [row.node.of if isinstance(row.node, Array) else row.node for row in rows]
        assert {node.shape for node in nodes if isinstance(node, Object)} <= set(SHAPES)


def test_a_stray_is_known_and_never_defined() -> None:
    """So that it can be told where it belongs."""
    assert "code" in known("result")
    assert not any("code" in members("result", version) for version in VERSIONS)
