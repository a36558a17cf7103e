"""The interface plugin: every verb, healthy."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from refimpl.cni.plugins import configure

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")


def test_add_reports_what_the_kernel_has(rig) -> None:
    """A result that differs from the kernel misleads every plugin and runtime after it."""
    result = rig.add()
    inside = rig.host.links(rig.netns)["eth0"]
    outside = rig.host.links()
    bridge, veth, own = result["interfaces"]
    assert own == {"name": "eth0", "mac": inside.mac, "mtu": inside.mtu, "sandbox": rig.netns}
    assert [bridge["name"], veth["name"]] == ["cni0", inside.peer]
    assert all(e["mac"] == outside[e["name"]].mac and "sandbox" not in e for e in (bridge, veth))
    assert sorted(ip["address"] for ip in result["ips"]) == sorted(inside.addresses)
    assert {ip["interface"] for ip in result["ips"]} == {2}
    assert inside.up
    assert {route["dst"] for route in result["routes"]} <= {
        route.dst for route in rig.host.routes(rig.netns)
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_add_answers_in_the_version_asked_for(rig, version) -> None:
    """A shape of another version cannot be read by who asked."""
    result = rig.add(rig.conf(version))
    assert result["cniVersion"] == version
    if version in ("0.1.0", "0.2.0"):
        assert set(result) == {"cniVersion", "ip4", "ip6"}
        assert result["ip4"]["ip"] == "10.1.0.2/24"
        assert result["ip4"]["routes"] == [{"dst": "0.0.0.0/0"}]
    else:
        old = version in ("0.3.0", "0.3.1", "0.4.0")
        assert [ip.get("version") for ip in result["ips"]] == (["4", "6"] if old else [None] * 2)
        assert ("mtu" in result["interfaces"][2]) is (version == "1.1.0")


def test_a_result_without_addresses_does_not_exist_before_0_3_0(rig) -> None:
    """There is no way to write it down; the link must not stay then."""
    conf = rig.conf("0.2.0")
    del conf["ipam"]
    before = rig.host.snapshot()
    assert rig.call("bridge", "ADD", conf).code == 1
    assert before.difference(rig.host.snapshot()) == []


def test_a_layer_2_network_passes_every_verb(rig) -> None:
    """Without ipam there is no delegate to name."""
    conf = rig.conf()
    del conf["ipam"]
    result = rig.add(conf, CNI_PATH=None)
    assert "ips" not in result
    assert rig.call("bridge", "CHECK", {**conf, "prevResult": result}, CNI_PATH=None).status == 0
    assert rig.call("bridge", "STATUS", conf, CNI_PATH=None).status == 0
    assert rig.call("bridge", "DEL", conf, CNI_PATH=None).status == 0
    assert rig.verbs("host-local") == []


def test_add_refuses_an_interface_that_is_there(rig) -> None:
    """CNI 1.1 ADD: an error, and what is there stays as it is."""
    rig.host.add_link(rig.netns, "eth0")
    before = rig.host.snapshot(rig.store)
    assert rig.call("bridge", "ADD", rig.conf()).code == 100
    assert before.difference(rig.host.snapshot(rig.store)) == []


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_repeated_add_spares_the_first(rig, elsewhere) -> None:
    """Rolling back the second must not free the first one's address."""
    rig.add()
    before = rig.host.snapshot(rig.store)
    netns = rig.host.make_netns("two") if elsewhere else rig.netns
    assert rig.call("bridge", "ADD", rig.conf(), CNI_NETNS=netns).code == 100
    lines = before.difference(rig.host.snapshot(rig.store))
    assert [line for line in lines if "two" not in line] == []


def test_attachments_are_told_apart_by_id_and_interface(rig) -> None:
    """One container may have several, and several containers may call them alike."""
    pod = "K8S_POD_NAMESPACE=a;K8S_POD_NAME=p"
    two = rig.host.make_netns("two")
    rig.add(CNI_ARGS=pod)
    rig.add(CNI_IFNAME="eth1", CNI_ARGS=pod)
    rig.add(CNI_CONTAINERID="C1", CNI_NETNS=two, CNI_ARGS=pod)
    assert rig.call("bridge", "DEL", rig.conf(), CNI_ARGS=pod).status == 0
    assert {"eth1"} == set(rig.host.links(rig.netns)) - {"lo"}
    assert {"eth0"} == set(rig.host.links(two)) - {"lo"}
    assert set(rig.reserved().values()) == {"c1/eth1", "C1/eth0"}


@pytest.mark.parametrize("what", ["missing", "file", "folder"])
def test_add_needs_a_namespace(rig, what) -> None:
    """Nothing may be reserved for a container that has none."""
    path = rig.folder / what
    if what == "file":
        path.write_text("x")
    elif what == "folder":
        path.mkdir()
    answer = rig.call("bridge", "ADD", rig.conf(), CNI_NETNS=str(path))
    assert answer.code == 4
    assert str(path) in answer.document["msg"]
    assert rig.verbs("host-local") == []


@pytest.mark.parametrize("verb", ["ADD", "DEL"])
@pytest.mark.parametrize("real", [False, True])
def test_the_own_namespace_is_refused_before_any_work(rig, verb, real) -> None:
    """Work in the host's namespace would cut the machine off."""
    rig.add()
    before = rig.host.snapshot(rig.store)
    own = "/proc/self/ns/net" if real else rig.host.own_netns()
    answer = rig.call("bridge", verb, rig.conf(), CNI_NETNS=own, CNI_CONTAINERID="c2")
    assert answer.code == 8
    assert before.difference(rig.host.snapshot(rig.store)) == []
    assert rig.verbs("host-local") == ["ADD"]


@pytest.mark.parametrize("value", ["1", "true", "TRUE"])
def test_the_override_allows_the_own_namespace(rig, value) -> None:
    """Who sets it knows."""
    own = rig.host.own_netns()
    env = {"CNI_NETNS": own, "CNI_NETNS_OVERRIDE": value}
    assert rig.call("bridge", "ADD", rig.conf(), **env).status == 0
    assert "eth0" in rig.host.links()
    assert rig.call("bridge", "DEL", rig.conf(), **env).status == 0
    assert "eth0" not in rig.host.links()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"do": "exit", "status": 1}, 102),
        ({"do": "stdout", "text": "{not json"}, 102),
        ({"do": "stdout", "text": "{}"}, 102),
        ({"do": "signal"}, 102),
        ({"do": "error", "code": 11}, 11),
        ({"do": "code", "code": 0}, 102),
        ({"do": "index-out-of-range"}, 102),
        ({"do": "edit", "pointer": "/cniVersion", "value": "7.0.0"}, 102),
    ],
)
def test_a_failing_ipam_is_undone_once_and_leaves_nothing(rig, fault, code) -> None:
    """CNI 1.1: a delegate whose ADD failed or was in vain gets one DEL."""
    if fault["do"] == "code":
        rig.fault("host-local", "error", "ADD")
    rig.fault("host-local", fault.pop("do"), "ADD", **fault)
    before = rig.host.snapshot()
    assert rig.call("bridge", "ADD", rig.conf()).code == code
    assert rig.verbs("host-local") == ["ADD", "DEL"]
    assert before.difference(rig.host.snapshot()) == []
    assert rig.reserved() == {}


def test_an_ipam_that_is_not_there_is_an_error(rig) -> None:
    """The runtime's CNI_PATH does not lead to it: say so."""
    answer = rig.run("bridge", "ADD", rig.conf(ipam={"type": "nobody"}))
    assert answer.code == 102
    assert "nobody" in answer.document["msg"]
    assert rig.run("bridge", "ADD", rig.conf(), CNI_PATH=None).code == 4


def test_a_clash_on_the_host_after_ipam_is_undone(rig) -> None:
    """The address comes back when the link cannot be made, and the next try works."""
    rig.fault("bridge", "edit", "ADD", pointer="/x", value=1)
    name = rig.add()["interfaces"][1]["name"]
    rig.call("bridge", "DEL", rig.conf())
    rig.host.add_link(None, name)
    assert rig.call("bridge", "ADD", rig.conf()).code == 100
    assert rig.reserved() == {}
    rig.host.delete_link(None, name)
    assert rig.call("bridge", "ADD", rig.conf()).status == 0


@pytest.mark.parametrize("gw", ["203.0.113.1", "fd00:9::1"])
def test_a_next_hop_out_of_reach_fails_the_add_and_is_undone(rig, gw) -> None:
    """A kernel takes no route through a gateway that is in no network of the link."""
    conf = rig.conf()
    dst = "2001:db8::/32" if ":" in gw else "198.51.100.0/24"
    conf["ipam"]["routes"] = [{"dst": dst, "gw": gw}]
    before = rig.host.snapshot()
    assert rig.call("bridge", "ADD", conf).code == 102
    assert before.difference(rig.host.snapshot()) == []
    assert rig.reserved() == {}
    conf["ipam"]["routes"] = [{"dst": "::/0", "gw": "fe80::1"}, {"dst": dst}]
    rig.add(conf)


def test_the_delegate_gets_the_same_stdin_and_environment(rig) -> None:
    """CNI 1.1: complete and identical, or the delegate works for another container."""
    raw = json.dumps(rig.conf(extra={"big": 2**53 + 1, "<&>": 1.0}), indent=3).encode()
    rig.run("bridge", "ADD", raw, CNI_ARGS="IgnoreUnknown=1;K=V", FOO="bar")
    mine, theirs = rig.calls("bridge")[0], rig.calls("host-local")[0]
    assert theirs["stdin"] == mine["stdin"] == raw
    assert theirs["env"] == mine["env"]
    assert theirs["verb"] == "ADD"


def test_what_the_delegate_says_is_passed_on(rig) -> None:
    """Logs of a delegate are lost otherwise."""
    configure(rig.bin / "rec", role="ipam", answers={"ADD": {"stderr": "hello\n", "status": 1}})
    answer = rig.run("bridge", "ADD", rig.conf(ipam={"type": "rec"}))
    assert b"hello\n" in answer.stderr


def test_the_delegate_is_searched_in_the_order_of_the_path(rig) -> None:
    """The first of two wins, and a directory of that name is none."""
    other = rig.folder / "other"
    (other / "host-local").mkdir(parents=True)
    search = f"{rig.folder}/nowhere:{other}:{rig.bin}"
    assert rig.run("bridge", "ADD", rig.conf(), CNI_PATH=search).status == 0
    (other / "host-local").rmdir()
    (other / "host-local").write_text("#!/bin/false\n")
    (other / "host-local").chmod(0o755)
    answer = rig.run("bridge", "ADD", rig.conf(), CNI_PATH=search, CNI_IFNAME="eth1")
    assert answer.code == 102


def test_an_ipam_of_an_older_version_is_converted(rig) -> None:
    """Its answer says which version it is in."""
    old = {"cniVersion": "0.2.0", "ip4": {"ip": "10.9.0.5/16", "gateway": "10.9.0.1"}}
    configure(rig.bin / "rec", answers={"ADD": {"result": old}})
    result = rig.add(rig.conf("1.0.0", ipam={"type": "rec"}))
    assert result["ips"] == [{"address": "10.9.0.5/16", "gateway": "10.9.0.1", "interface": 2}]


def test_unknown_members_of_ipams_result_are_kept(rig) -> None:
    """A newer IPAM may say more than we know."""
    given = {
        "cniVersion": "1.1.0",
        "ips": [{"address": "10.9.0.5/16", "lease": 12345678901234567890}],
        "vendor": {"a": [1]},
    }
    configure(rig.bin / "rec", answers={"ADD": {"result": given}})
    result = rig.add(rig.conf(ipam={"type": "rec"}))
    assert result["ips"][0]["lease"] == 12345678901234567890
    assert result["vendor"] == {"a": [1]}


def test_parallel_first_adds_share_one_bridge(rig) -> None:
    """Twenty containers start at once on a fresh node."""
    spaces = [rig.host.make_netns(f"p{n}") for n in range(20)]

    def add(n: int) -> int:
        return rig.run(
            "bridge", "ADD", rig.conf(), CNI_CONTAINERID=f"p{n}", CNI_NETNS=spaces[n]
        ).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(add, range(20))) == {0}
    links = rig.host.links()
    assert len([link for link in links.values() if link.master == "cni0"]) == 20


@pytest.mark.parametrize(
    "change",
    [
        {"bridge": 5},
        {"mtu": "1500"},
        {"mtu": True},
        {"mtu": 10},
        {"mac": "junk"},
        {"mac": "03:00:00:00:00:01"},
        {"runtimeConfig": {"mac": 7}},
        {"isGateway": "yes"},
        {"ipMasq": 1},
        {"ipam": []},
        {"ipam": {"type": 5}},
        {"dns": "8.8.8.8"},
        {"args": []},
        {"runtimeConfig": 5},
        {"type": 5},
    ],
)
def test_a_key_of_the_wrong_type_is_refused_before_any_work(rig, change) -> None:
    """Code 7, and nothing to clean up."""
    before = rig.host.snapshot(rig.store)
    assert rig.call("bridge", "ADD", rig.conf(**change)).code == 7
    assert before.difference(rig.host.snapshot(rig.store)) == []


def test_mac_mtu_and_dns_of_the_configuration_are_used(rig) -> None:
    """What the user or the runtime asks for shows in kernel and result."""
    dns = {"nameservers": ["10.0.0.53"]}
    conf = rig.conf(mtu=1400, dns=dns, runtimeConfig={"mac": "02:AA:00:00:00:01"})
    result = rig.add({**conf, "isDefaultGateway": True})
    link = rig.host.links(rig.netns)["eth0"]
    assert (link.mtu, link.mac) == (1400, "02:aa:00:00:00:01")
    assert result["dns"] == dns
    assert "10.1.0.1/24" in rig.host.links()["cni0"].addresses


def test_a_real_namespace_is_taken_too(rig) -> None:
    """Runtimes make real ones; what is done there is noted under the path."""
    real = "/proc/self/ns/net"
    env = {"CNI_NETNS": real, "CNI_NETNS_OVERRIDE": "1"}
    assert rig.run("bridge", "ADD", rig.conf(), **env).status == 0
    assert rig.run("bridge", "DEL", rig.conf(), **env).status == 0
    assert set(rig.host.snapshot().namespaces) == {"host", rig.netns}


def test_a_prev_result_is_amended(rig) -> None:
    """CNI 1.1 ADD: what an earlier plugin of the list made must not be lost."""
    first = rig.add()
    second = rig.add(rig.conf(prevResult={**first, "vendor": 1}), CNI_IFNAME="eth1")
    assert second["interfaces"][:3] == first["interfaces"]
    assert second["ips"][:2] == first["ips"]
    assert {ip["interface"] for ip in second["ips"][2:]} == {5}
    assert second["vendor"] == 1
    for ifname in ("eth0", "eth1"):
        conf = rig.conf(prevResult=second)
        assert rig.call("bridge", "CHECK", conf, CNI_IFNAME=ifname).status == 0
    assert rig.call("bridge", "ADD", rig.conf(prevResult={"ips": 5}), CNI_IFNAME="eth2").code == 7
