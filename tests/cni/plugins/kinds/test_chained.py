"""The chained plugin: what it is given it passes on."""

from __future__ import annotations

import json

import pytest

PORTS = [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]
RESULTS = {
    "0.2.0": {"ip4": {"ip": "10.1.0.2/24", "x": 1}, "vendor": 1.0},
    "0.3.1": {
        "interfaces": [{"name": "eth0", "sandbox": "/n", "x": {"y": [1]}}],
        "ips": [{"version": "4", "address": "10.1.0.2/24", "interface": 0}],
    },
    "1.0.0": {"ips": [{"address": "fd00::2/64", "z": 12345678901234567890}], "routes": []},
    "1.1.0": {
        "interfaces": [{"name": "eth0", "mtu": 1500, "socketPath": "/s", "pciID": "p"}],
        "routes": [{"dst": "::/0", "mtu": 1400, "scope": 0, "q": None}],
        "dns": {"r": 1},
    },
}


def conf(_rig, previous, version="1.1.0", **changes):
    document = {"cniVersion": version, "name": "net", "type": "portmap", **changes}
    return document if previous is None else {**document, "prevResult": previous}


@pytest.mark.parametrize("version", RESULTS)
def test_a_result_that_needs_no_change_comes_out_equal(rig, version) -> None:
    """Unknown members at every level, numbers to the last digit."""
    previous = {"cniVersion": version, **RESULTS[version]}
    answer = rig.call("portmap", "ADD", conf(rig, previous, version))
    assert answer.status == 0, answer
    assert answer.document == previous


def test_numbers_come_out_as_they_went_in(rig) -> None:
    """1.0 is not 1, and 1e400 is no infinity."""
    text = (
        b'{"cniVersion":"1.0.0","name":"n","prevResult":{"a":[1.0,1e400,9007199254740993,-0.50]}}'
    )
    answer = rig.call("portmap", "ADD", text)
    assert b'"a":[1.0,1e400,9007199254740993,-0.50]' in answer.stdout


@pytest.mark.parametrize("previous", [None, 5, "x", [], {"ips": 5}, {"ips": [{"address": "x"}]}])
def test_a_missing_or_broken_prev_result_is_refused(rig, previous) -> None:
    """Cleanly: some crash here."""
    assert rig.call("portmap", "ADD", conf(rig, previous)).code == 7
    assert rig.call("portmap", "CHECK", conf(rig, previous)).code == 7
    assert rig.call("portmap", "DEL", conf(rig, previous)).status == 0
    assert rig.call("portmap", "ADD", {**conf(rig, None), "prevResult": None}).code == 7


def test_a_prev_result_of_another_version_is_converted(rig) -> None:
    """Its label counts, and what comes out has one shape."""
    previous = {"cniVersion": "0.3.1", **RESULTS["0.3.1"]}
    document = rig.call("portmap", "ADD", conf(rig, previous, "1.0.0")).document
    assert document["cniVersion"] == "1.0.0"
    assert document["ips"] == [{"address": "10.1.0.2/24", "interface": 0}]
    assert document["interfaces"] == previous["interfaces"]


def test_a_prev_result_without_label_is_read_as_the_requests_version(rig) -> None:
    """So a shape of another version is refused, not relabelled."""
    assert rig.call("portmap", "ADD", conf(rig, RESULTS["0.2.0"], "1.0.0")).code == 7
    bare = rig.call("portmap", "ADD", conf(rig, RESULTS["1.0.0"], "1.0.0"))
    assert bare.document == {"cniVersion": "1.0.0", **RESULTS["1.0.0"]}
    assert rig.call("portmap", "ADD", conf(rig, {"cniVersion": "7.0.0"})).code == 7


@pytest.mark.parametrize("where", ["", "runtimeConfig"])
def test_a_change_shows_in_kernel_and_result_at_the_one_interface(rig, where) -> None:
    """Host links and other interfaces stay as they were."""
    previous = rig.add(rig.conf())
    change = {"mac": "02:AA:00:00:00:01", "mtu": 1300}
    request = {where: change} if where else change
    document = rig.call("portmap", "ADD", conf(rig, previous, **request)).document
    link = rig.host.links(rig.netns)["eth0"]
    assert (link.mac, link.mtu) == ("02:aa:00:00:00:01", 1300)
    assert document["interfaces"][:2] == previous["interfaces"][:2]
    assert document["interfaces"][2] == {
        **previous["interfaces"][2],
        "mac": "02:aa:00:00:00:01",
        "mtu": 1300,
    }
    assert document["ips"] == previous["ips"]


def test_an_mtu_does_not_show_before_1_1_0(rig) -> None:
    """The member is younger."""
    previous = rig.add(rig.conf("1.0.0"))
    document = rig.call("portmap", "ADD", conf(rig, previous, "1.0.0", mtu=1300)).document
    assert document == previous
    assert rig.host.links(rig.netns)["eth0"].mtu == 1300


def test_a_change_of_an_interface_that_is_not_there_is_refused(rig) -> None:
    """Neither in prevResult nor in the kernel."""
    previous = rig.add(rig.conf())
    request = conf(rig, previous, mtu=1300)
    assert rig.call("portmap", "ADD", request, CNI_IFNAME="eth7").code == 7
    rig.host.delete_link(rig.netns, "eth0")
    assert rig.call("portmap", "ADD", request).code == 103


@pytest.mark.parametrize(
    "runtime",
    [
        {"portMappings": [{"hostPort": 80800, "containerPort": 80}]},
        {"portMappings": [{"hostPort": 80}]},
        {"portMappings": [{"hostPort": 80, "containerPort": 80, "protocol": "icmp"}]},
        {"portMappings": [{"hostPort": 80, "containerPort": 80, "hostIP": "x"}]},
        {"portMappings": 5},
        {"portMappings": [5]},
        {"bandwidth": {"ingressRate": -1}},
        {"bandwidth": []},
        {"mac": "x"},
        {"mtu": 1},
    ],
)
def test_a_bad_runtime_config_is_refused_before_any_work(rig, runtime) -> None:
    """Code 7, and DEL with it still works."""
    previous = rig.add(rig.conf())
    before = rig.host.snapshot()
    request = conf(rig, previous, mtu=1300, runtimeConfig=runtime)
    assert rig.call("portmap", "ADD", request).code == 7
    assert before.difference(rig.host.snapshot()) == []
    assert rig.call("portmap", "DEL", request).status == 0


def test_rules_live_from_add_to_del(rig) -> None:
    """CHECK sees them go, DEL takes them even without a namespace, twice."""
    runtime = {"portMappings": PORTS, "bandwidth": {"ingressRate": 1000, "ingressBurst": 2000}}
    previous = rig.add(rig.conf())
    request = conf(rig, previous, runtimeConfig=runtime)
    rig.call("portmap", "ADD", request)
    rules = rig.host.snapshot().namespaces["host"].rules
    assert rules == (
        "portmap net c1 eth0 tcp *:8080 10.1.0.2:80",
        "portmap net c1 eth0 tcp *:8080 fd00:1::2:80",
        "shape net c1 eth0 ingressRate=1000 ingressBurst=2000",
    )
    assert rig.call("portmap", "CHECK", request).status == 0
    for _ in range(2):
        answer = rig.call("portmap", "DEL", conf(rig, None), CNI_NETNS="")
        assert (answer.status, answer.stdout) == (0, b"")
    assert rig.host.snapshot().namespaces["host"].rules == ()
    assert rig.call("portmap", "CHECK", request).code == 103


def test_a_host_address_maps_its_own_family(rig) -> None:
    """hostIP of IPv4 leads to the IPv4 address alone."""
    previous = rig.add(rig.conf())
    ports = [{**PORTS[0], "hostIP": "127.0.0.1"}]
    rig.call("portmap", "ADD", conf(rig, previous, runtimeConfig={"portMappings": ports}))
    assert rig.host.snapshot().namespaces["host"].rules == (
        "portmap net c1 eth0 tcp 127.0.0.1:8080 10.1.0.2:80",
    )


def test_check_compares_the_link_it_changed(rig) -> None:
    """As prevResult, the final one, has it."""
    previous = rig.add(rig.conf())
    changed = rig.call("portmap", "ADD", conf(rig, previous, mac="02:aa:00:00:00:01")).document
    request = conf(rig, changed, mac="02:aa:00:00:00:01")
    assert rig.call("portmap", "CHECK", request).status == 0
    rig.host.set_mac(rig.netns, "eth0", "02:aa:00:00:00:09")
    assert rig.call("portmap", "CHECK", request).code == 103


def test_gc_keeps_valid_rules_and_other_networks(rig) -> None:
    """By the exact pair."""
    previous = rig.add(rig.conf())
    request = conf(rig, previous, runtimeConfig={"portMappings": PORTS[:1]})
    rig.call("portmap", "ADD", request)
    rig.call("portmap", "ADD", {**request, "name": "other"})
    rig.call("portmap", "ADD", request, CNI_CONTAINERID="c2")
    valid = [{"containerID": "c2", "ifname": "eth0"}]
    for _ in range(2):
        gc = conf(rig, None, **{"cni.dev/valid-attachments": valid})
        assert rig.call("portmap", "GC", gc).status == 0
    keys = {tuple(r.split()[1:3]) for r in rig.host.snapshot().namespaces["host"].rules}
    assert keys == {("net", "c2"), ("other", "c1")}
    assert rig.call("portmap", "GC", conf(rig, None)).status == 0


def test_names_that_go_gives_are_taken_where_settings_allow(rig) -> None:
    """containerd sends them so."""
    from refimpl.cni.plugins import configure

    previous = rig.add(rig.conf())
    ports = [{"HostPort": 1, "ContainerPort": 2, "Protocol": "udp", "HostIP": ""}]
    request = conf(rig, previous, runtimeConfig={"portMappings": ports})
    assert rig.call("portmap", "ADD", request).code == 7
    configure(rig.bin / "portmap", lenient=True)
    assert rig.call("portmap", "ADD", request).status == 0


def test_no_kernel_is_needed_where_nothing_is_changed(rig) -> None:
    """The plugin then is the identity."""
    from refimpl.cni.plugins import main

    stdin = json.dumps(conf(rig, {"ips": []})).encode()
    status, out, _ = main("chained", rig.env("ADD"), stdin, {})
    assert (status, json.loads(out)) == (0, {"cniVersion": "1.1.0", "ips": []})
    request = json.dumps(conf(rig, {"ips": []}, mtu=1300)).encode()
    assert main("chained", rig.env("ADD"), request, {})[0] == 1


def test_status_is_ready_while_the_kernel_file_can_be_read(rig) -> None:
    """Nothing else is needed."""
    assert rig.call("portmap", "STATUS", conf(rig, None)).status == 0
    rig.host.kernel.write_text("{")
    assert rig.call("portmap", "STATUS", conf(rig, None)).code == 50
