"""The IPAM plugin: addresses are given once, found again, and come back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
PAIR = "cni.dev/valid-attachments"


def ranges(rig, *subnets, **changes):
    """A configuration with a range set a subnet."""
    conf = rig.conf(**changes)
    conf["ipam"]["ranges"] = [
        [each if isinstance(each, dict) else {"subnet": each}] for each in subnets
    ]
    conf["ipam"].pop("routes")
    return conf


def add(rig, conf, container="c1", **env):
    return rig.call("host-local", "ADD", conf, CNI_CONTAINERID=container, **env)


def addresses(answer):
    return [ip["address"] for ip in answer.document["ips"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_result_has_addresses_and_nothing_of_interfaces(rig, version) -> None:
    """CNI 1.1: an IPAM result is abbreviated."""
    document = add(rig, rig.conf(version)).document
    assert document["cniVersion"] == version
    assert "interfaces" not in document
    if "ips" in document:
        assert all("interface" not in ip for ip in document["ips"])
        assert [ip["gateway"] for ip in document["ips"]] == ["10.1.0.1", "fd00:1::1"]
    else:
        assert document["ip6"] == {
            "ip": "fd00:1::2/64",
            "gateway": "fd00:1::1",
            "routes": [{"dst": "::/0"}],
        }


def test_fifty_parallel_adds_get_fifty_addresses(rig) -> None:
    """The store is shared by processes that know nothing of each other."""

    def one(n: int):
        return rig.run("host-local", "ADD", rig.conf(), CNI_CONTAINERID=f"p{n}")

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, range(50)))
    given = [address for answer in answers for address in addresses(answer)]
    assert len(set(given)) == 100
    assert len(rig.reserved()) == 100


def test_a_storm_of_add_and_del_leaves_the_store_empty(rig) -> None:
    """The pool must have its size again afterwards."""
    conf = ranges(rig, "10.2.0.0/26")

    def life(n: int) -> int:
        name = f"s{n}"
        status = rig.run("host-local", "ADD", conf, CNI_CONTAINERID=name).status
        return status + rig.run("host-local", "DEL", conf, CNI_CONTAINERID=name).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(life, range(24))) == {0}
    assert rig.reserved() == {}


def test_a_pool_that_is_used_up_serves_again_after_a_del(rig) -> None:
    """Exhaustion is an error of its own, not the end."""
    conf = ranges(rig, "10.3.0.0/29")
    for n in range(5):
        assert add(rig, conf, f"c{n}").status == 0
    assert add(rig, conf, "late").code == 101
    assert rig.call("host-local", "STATUS", conf).code == 50
    assert rig.call("host-local", "DEL", conf, CNI_CONTAINERID="c3").status == 0
    assert rig.call("host-local", "STATUS", conf).status == 0
    assert addresses(add(rig, conf, "late")) == ["10.3.0.5/29"]


def test_addresses_are_given_in_turn(rig) -> None:
    """One that has just come back rests as long as there are others."""
    conf = ranges(rig, "10.3.0.0/29")
    assert addresses(add(rig, conf, "a")) == ["10.3.0.2/29"]
    rig.call("host-local", "DEL", conf, CNI_CONTAINERID="a")
    assert addresses(add(rig, conf, "b")) == ["10.3.0.3/29"]


def test_a_second_family_that_is_used_up_gives_the_first_back(rig) -> None:
    """Half an attachment is none."""
    conf = ranges(rig, "10.4.0.0/24", {"subnet": "fd00:4::/126"})
    for n in range(1):
        assert add(rig, conf, f"c{n}").status == 0
    before = rig.reserved()
    assert add(rig, conf, "late").code == 101
    assert rig.reserved() == before


def test_a_repeated_add_is_refused_and_the_first_stays(rig) -> None:
    """A second address would never be freed."""
    add(rig, rig.conf())
    before = rig.reserved()
    assert add(rig, rig.conf()).code == 100
    assert rig.reserved() == before


@pytest.mark.parametrize(
    "bad",
    [
        "10.1.0.0/31",
        "10.1.0.1/32",
        "fd00::/127",
        "fd00::1/128",
        "10.1.0.5/24",
        "10.1.0.0",
        "junk",
        5,
        {"subnet": "10.1.0.0/24", "gateway": "10.2.0.1"},
        {"subnet": "10.1.0.0/24", "gateway": "fd00::1"},
        {"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.9", "rangeEnd": "10.1.0.3"},
        {"subnet": "10.1.0.0/24", "rangeStart": "10.2.0.9"},
        {"subnet": "10.1.0.0/24", "rangeEnd": "10.1.1.9"},
    ],
)
def test_ranges_that_cannot_be_used_are_refused(rig, bad) -> None:
    """Code 7, before the store is touched; DEL and GC go on all the same."""
    conf = ranges(rig, bad)
    assert add(rig, conf).code == 7
    assert not rig.store.exists()
    assert rig.call("host-local", "DEL", conf).status == 0
    assert rig.call("host-local", "GC", {**conf, PAIR: []}).status == 0
    assert not rig.store.exists()


@pytest.mark.parametrize(
    "sets",
    [
        [],
        [[]],
        "10.1.0.0/24",
        [{"subnet": "10.1.0.0/24"}],
        [[{"subnet": "10.1.0.0/24"}, {"subnet": "fd00::/64"}]],
        [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.1.0.128/25"}]],
        [[{"subnet": "10.1.0.0/24"}, {"subnet": "10.1.0.0/24"}]],
    ],
)
def test_range_sets_that_make_no_sense_are_refused(rig, sets) -> None:
    """Overlaps would give one address twice."""
    conf = rig.conf()
    conf["ipam"]["ranges"] = sets
    assert add(rig, conf).code == 7


CHANNELS = {
    "runtimeConfig": lambda ip: ({"runtimeConfig": {"ips": [ip]}}, {}),
    "args": lambda ip: ({"args": {"cni": {"ips": [ip]}}}, {}),
    "CNI_ARGS": lambda ip: ({}, {"CNI_ARGS": f"IgnoreUnknown=1;IP={ip}"}),
}


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("text", ["10.1.0.77", "10.1.0.77/24"])
def test_a_requested_address_is_honoured(rig, channel, text) -> None:
    """By each of the three ways to ask."""
    conf, env = CHANNELS[channel](text)
    assert addresses(add(rig, rig.conf(**conf), **env))[0] == "10.1.0.77/24"


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize(
    "text", ["10.9.0.1", "10.1.0.1", "10.1.0.0", "10.1.0.255", "10.1.0.77/16", "x", "10.1.0.50"]
)
def test_a_requested_address_is_never_replaced_silently(rig, channel, text) -> None:
    """Out of range, the gateway, another prefix, taken: code 7 and nothing reserved."""
    add(rig, rig.conf(runtimeConfig={"ips": ["10.1.0.50"]}), "other")
    before = rig.reserved()
    conf, env = CHANNELS[channel](text)
    assert add(rig, rig.conf(**conf), **env).code == 7
    assert rig.reserved() == before


def test_args_win_over_the_environment(rig) -> None:
    """Conventions: with args.cni.ips given, CNI_ARGS IP is ignored."""
    conf = rig.conf(args={"cni": {"ips": ["10.1.0.77"]}})
    assert addresses(add(rig, conf, CNI_ARGS="IP=10.1.0.88"))[0] == "10.1.0.77/24"


@pytest.mark.parametrize("text", ["A", "A=b=c", "A=b;", ";", "=", "IP=", "UNKNOWN=1"])
def test_odd_cni_args_are_tolerated(rig, text) -> None:
    """Runtimes put all sorts there."""
    assert add(rig, rig.conf(), CNI_ARGS=text).status == 0


def test_ranges_of_the_runtime_come_first(rig) -> None:
    """Capability ipRanges."""
    conf = rig.conf(runtimeConfig={"ipRanges": [[{"subnet": "10.7.0.0/24"}]]})
    assert addresses(add(rig, conf))[0] == "10.7.0.2/24"


def test_a_single_subnet_is_enough(rig) -> None:
    """The short form of the configuration."""
    conf = rig.conf(
        ipam={
            "type": "host-local",
            "dataDir": str(rig.store),
            "subnet": "10.8.0.0/24",
            "rangeStart": "10.8.0.10",
            "rangeEnd": "10.8.0.20",
            "gateway": "10.8.0.254",
        }
    )
    assert add(rig, conf).document["ips"] == [{"address": "10.8.0.10/24", "gateway": "10.8.0.254"}]


def test_dns_comes_from_a_resolv_conf(rig) -> None:
    """ipam.resolvConf names it."""
    path = rig.folder / "resolv.conf"
    path.write_text("# x\nnameserver 10.0.0.53\ndomain a.b\nsearch a b\noptions ndots:5\n")
    conf = rig.conf()
    conf["ipam"]["resolvConf"] = str(path)
    assert add(rig, conf).document["dns"] == {
        "nameservers": ["10.0.0.53"],
        "domain": "a.b",
        "search": ["a", "b"],
        "options": ["ndots:5"],
    }
    conf["ipam"]["resolvConf"] = str(rig.folder / "none")
    assert add(rig, conf, "c2").code == 5


@pytest.mark.parametrize("routes", [5, [5], [{}], [{"dst": "x"}], [{"dst": "::/0", "gw": "y"}]])
def test_routes_that_are_none_are_refused(rig, routes) -> None:
    """Before an address is taken."""
    conf = rig.conf()
    conf["ipam"]["routes"] = routes
    assert add(rig, conf).code == 7
    assert rig.reserved() == {}


@pytest.mark.parametrize("length", [1, 64, 255, 4096])
def test_an_id_of_any_length_is_taken(rig, length) -> None:
    """The contract names no limit."""
    name = "i" * length
    assert add(rig, rig.conf(), name).status == 0
    assert rig.call("host-local", "DEL", rig.conf(), CNI_CONTAINERID=name).status == 0
    assert rig.reserved() == {}
