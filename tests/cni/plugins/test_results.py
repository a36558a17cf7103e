"""Results between versions."""

from __future__ import annotations

import pytest

from refimpl.cni.plugins.results import load, same_shape, shape

INNER = {
    "interfaces": [{"name": "eth0", "mtu": 1500, "socketPath": "/s", "pciID": "p", "x": 1}],
    "ips": [
        {"address": "10.1.0.2/24", "gateway": "10.1.0.1", "interface": 0, "y": 1},
        {"address": "10.1.0.3/24"},
        {"address": "fd00::2/64"},
    ],
    "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1", "mtu": 1400, "scope": 0, "z": 1}],
    "dns": {"domain": "a"},
    "vendor": 1,
}


def test_the_newest_shape_is_the_inner_form() -> None:
    """Only the label is added."""
    assert shape(INNER, "1.1.0") == {"cniVersion": "1.1.0", **INNER}
    assert load(shape(INNER, "1.1.0"), "1.1.0") == INNER


@pytest.mark.parametrize("version", ["0.3.0", "0.3.1", "0.4.0", "1.0.0"])
def test_older_shapes_lose_what_they_do_not_know(version) -> None:
    """Members of 1.1.0 go, unknown ones stay, ips get their version."""
    document = shape(INNER, version)
    assert document["interfaces"] == [{"name": "eth0", "x": 1}]
    assert document["routes"] == [{"dst": "0.0.0.0/0", "gw": "10.1.0.1", "z": 1}]
    old = version != "1.0.0"
    assert [ip.get("version") for ip in document["ips"]] == (["4", "4", "6"] if old else [None] * 3)
    assert load(document, version)["ips"] == INNER["ips"]


def test_the_oldest_shape_has_one_address_a_family() -> None:
    """And routes below it, without attributes; unknown members stay."""
    assert shape(INNER, "0.2.0") == {
        "cniVersion": "0.2.0",
        "dns": {"domain": "a"},
        "vendor": 1,
        "ip4": {
            "ip": "10.1.0.2/24",
            "gateway": "10.1.0.1",
            "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1", "z": 1}],
            "y": 1,
        },
        "ip6": {"ip": "fd00::2/64"},
    }
    back = load(shape(INNER, "0.1.0"), "0.1.0")
    assert [ip["address"] for ip in back["ips"]] == ["10.1.0.2/24", "fd00::2/64"]
    assert back["routes"] == [{"dst": "0.0.0.0/0", "gw": "10.1.0.1", "z": 1}]
    with pytest.raises(ValueError, match="no valid address"):
        shape({"interfaces": []}, "0.2.0")


def test_a_result_of_its_own_version_stays_whole() -> None:
    """Null arrays go, the given one is not changed."""
    given = {"ips": None, "routes": [], "dns": None, "x": None}
    assert same_shape(given, "1.0.0") == {"routes": [], "x": None, "cniVersion": "1.0.0"}
    assert given["ips"] is None


@pytest.mark.parametrize(
    ("value", "version"),
    [
        ([], "1.0.0"),
        ({"ips": {}}, "1.0.0"),
        ({"ips": [5]}, "1.0.0"),
        ({"ips": [{}]}, "1.0.0"),
        ({"ips": [{"address": "10.1.0.2"}]}, "1.0.0"),
        ({"ips": [{"address": "10.1.0.2/24", "gateway": "10.1.0.1/24"}]}, "1.0.0"),
        ({"ips": [{"address": "10.1.0.2/24", "gateway": "fd00::1"}]}, "1.0.0"),
        ({"ips": [{"address": "10.1.0.2/24", "interface": 0}]}, "1.0.0"),
        (
            {
                "ips": [{"address": "10.1.0.2/24", "interface": True}],
                "interfaces": [{"name": "a"}] * 2,
            },
            "1.0.0",
        ),
        (
            {"ips": [{"address": "10.1.0.2/24", "interface": -1}], "interfaces": [{"name": "a"}]},
            "1.0.0",
        ),
        ({"interfaces": [{}]}, "1.0.0"),
        ({"routes": [{"gw": "10.1.0.1"}]}, "1.0.0"),
        ({"routes": [{"dst": "0.0.0.0/0", "gw": "fd00::1"}]}, "1.0.0"),
        ({"dns": []}, "1.0.0"),
        ({"ip4": {}}, "0.3.0"),
        ({"ips": []}, "0.2.0"),
        ({"ip4": 5}, "0.2.0"),
        ({"ip4": {"routes": 5}}, "0.2.0"),
        ({"ip6": {}}, "0.2.0"),
    ],
)
def test_what_is_no_result_is_refused(value, version) -> None:
    """The first reason is told."""
    with pytest.raises(ValueError, match=r"."):
        load(value, version)
