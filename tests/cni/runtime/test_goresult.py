"""Results as libcni's types read them; tests/live/test_cnitool.py has the real one."""

from typing import Any

import pytest

from refimpl.cni.contract import ShapeError
from refimpl.cni.runtime.gojson import marshal
from refimpl.cni.runtime.goresult import decode


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            {"cniVersion": "1.1.0", "x": 1, "ips": [{"address": "10.1.0.2/24", "version": "4"}]},
            b'{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.2/24"}]}',
        ),
        (
            {"cniVersion": "1.1.0", "routes": [{"dst": "0.0.0.0/0", "table": 0, "mtu": 0}]},
            b'{"cniVersion":"1.1.0","routes":[{"dst":"0.0.0.0/0","table":0}]}',
        ),
        (
            {"cniVersion": "0.4.0", "ips": [{"address": "2001:DB8:0::1/64"}]},
            b'{"cniVersion":"0.4.0","ips":[{"version":"","address":"2001:db8::1/64"}],"dns":{}}',
        ),
        (
            {"cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.2/24", "gateway": "::ffff:10.1.0.1"}},
            b'{"cniVersion":"0.2.0","ip4":{"ip":"10.1.0.2/24","gateway":"10.1.0.1"},"dns":{}}',
        ),
        (
            {"CNIVersion": "1.0.0", "INTERFACES": [{"Name": "eth0", "MTU": 1}]},
            b'{"cniVersion":"1.0.0","interfaces":[{"mtu":1,"name":"eth0"}]}',
        ),
        ({"cniVersion": "1.1.0", "ips": [None]}, b'{"cniVersion":"1.1.0","ips":[null]}'),
    ],
)
def test_known_members_stay_in_the_order_of_the_types(value: Any, text: bytes) -> None:
    """Unknown ones vanish, names count in any case, addresses have one spelling."""
    version = value.get("cniVersion", "1.0.0")
    assert marshal(decode(value, version)) == text


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"cniVersion": "0.4.0"},
        {"cniVersion": "1.1.0", "ips": {}},
        {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2"}]},
        {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/33"}]},
        {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24", "interface": "0"}]},
        {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24", "interface": 2**63}]},
        {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24", "gateway": "x"}]},
        {"cniVersion": "1.1.0", "interfaces": [{"name": 1}]},
    ],
)
def test_what_does_not_fit_the_types_is_refused(value: Any) -> None:
    """Another version of the document, other JSON types, no addresses."""
    with pytest.raises(ShapeError):
        decode(value, "1.1.0")


def test_a_version_without_a_type_is_refused() -> None:
    """RT-043: there it shows that a version of the future was sent."""
    with pytest.raises(ShapeError, match=r"9\.0\.0"):
        decode({}, "9.0.0")
