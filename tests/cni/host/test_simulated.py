"""The simulated host, alone and with the fake plugins on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refimpl.cni.host import HOST, Host, HostError
from refimpl.cni.host.simulated import Simulated
from refimpl.cni.plugins import main


@pytest.fixture
def simulated(tmp_path: Path) -> Simulated:
    return Simulated(tmp_path / "machine")


def attach(host: Simulated, netns: str, container: str = "c1") -> dict:
    """An attachment by the interface plugin, with an address and a route."""
    ipam = json.dumps(
        {
            "cniVersion": "1.1.0",
            "ips": [{"address": "10.1.0.2/24", "gateway": "10.1.0.1"}],
            "routes": [{"dst": "0.0.0.0/0", "priority": 7}],
        }
    ).encode()
    conf = {"cniVersion": "1.1.0", "name": "n", "ipam": {"type": "x"}, "ipMasq": True}
    env = {
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": container,
        "CNI_IFNAME": "eth0",
        "CNI_NETNS": netns,
    }
    status, out, err = main(
        "interface",
        env,
        json.dumps(conf).encode(),
        {"kernel": str(host.kernel)},
        exec_delegate=lambda *_: (0, ipam, b""),
    )
    assert status == 0, err
    return json.loads(out)


def test_it_is_a_host(simulated) -> None:
    """The same words as for a real kernel."""
    assert isinstance(simulated, Host)
    assert simulated.supports("veth")
    assert simulated.supports("bridge")
    assert not simulated.supports("ipvlan")


def test_a_namespace_is_born_with_a_loopback_and_goes_without_a_trace(simulated) -> None:
    """Named or not; the name is taken as long as it lives."""
    before = simulated.snapshot(simulated.folder / "netns")
    one, two = simulated.make_netns(), simulated.make_netns("two")
    assert set(simulated.links(one)) == set(simulated.links(None)) == {"lo"}
    assert simulated.routes(two) == ()
    with pytest.raises(HostError, match="two"):
        simulated.make_netns("two")
    for path in (one, two, two, str(simulated.folder / "never")):
        simulated.remove_netns(path)
    assert before.difference(simulated.snapshot(simulated.folder / "netns")) == []
    with pytest.raises(HostError, match="missing"):
        simulated.links(one)


def test_the_own_namespace_is_the_hosts_side(simulated) -> None:
    """Seen from inside, whoever opened the folder."""
    own = simulated.own_netns()
    assert Path(own).is_file()
    assert Simulated(simulated.folder).own_netns() == own
    simulated.add_link(None, "dummy0")
    assert simulated.links(own) == simulated.links(None)
    assert set(simulated.links(None)) == {"lo", "dummy0"}


def test_what_a_plugin_made_is_seen(simulated) -> None:
    """Links with their ends, addresses, routes with attributes, rules."""
    netns = simulated.make_netns()
    result = attach(simulated, netns)
    link = simulated.links(netns)["eth0"]
    assert (link.addresses, link.kind, link.up) == (("10.1.0.2/24",), "veth", True)
    far = simulated.links()[link.peer]
    assert (far.peer, far.master) == ("eth0", "cni0")
    assert [r.dst for r in simulated.routes(netns)] == ["10.1.0.0/24", "0.0.0.0/0"]
    assert simulated.routes(netns)[1].priority == 7
    assert simulated.snapshot().namespaces[HOST].rules == ("masquerade n c1 eth0 10.1.0.2/24",)
    assert result["interfaces"][1]["name"] == link.peer


def test_removing_a_namespace_takes_the_far_ends(simulated) -> None:
    """As a kernel does with a pair."""
    netns = simulated.make_netns()
    attach(simulated, netns)
    simulated.remove_netns(netns)
    assert set(simulated.links()) == {"lo", "cni0"}


def test_a_pair_with_address_and_route_is_made_and_goes_as_one(simulated) -> None:
    """What a chained plugin finds."""
    netns = simulated.make_netns()
    simulated.add_pair(netns, "eth0", "outside0")
    simulated.add_address(netns, "eth0", "10.88.0.2/16")
    simulated.add_route(netns, "0.0.0.0/0", "10.88.0.1")
    link = simulated.links(netns)["eth0"]
    assert (link.up, link.peer, link.addresses) == (True, "outside0", ("10.88.0.2/16",))
    assert simulated.links()["outside0"].peer == "eth0"
    assert [(r.dst, r.gw, r.dev) for r in simulated.routes(netns)] == [
        ("10.88.0.0/16", "", "eth0"),
        ("0.0.0.0/0", "10.88.0.1", "eth0"),
    ]
    simulated.delete_link(netns, "eth0")
    assert set(simulated.links()) == {"lo"}
    assert simulated.routes(netns) == ()


def test_damage_is_done_and_seen(simulated) -> None:
    """Each kind of it."""
    netns = simulated.make_netns()
    attach(simulated, netns)
    simulated.delete_route(netns, "0.0.0.0/0")
    assert [r.dst for r in simulated.routes(netns)] == ["10.1.0.0/24"]
    simulated.set_mac(netns, "eth0", "02:AA:00:00:00:01")
    assert simulated.links(netns)["eth0"].mac == "02:aa:00:00:00:01"
    simulated.flush_addresses(netns, "eth0")
    assert simulated.links(netns)["eth0"].addresses == ()
    assert simulated.routes(netns) == ()
    simulated.set_down(netns, "eth0")
    assert not simulated.links(netns)["eth0"].up
    simulated.delete_link(netns, "eth0")
    assert set(simulated.links(netns)) == {"lo"}
    assert set(simulated.links()) == {"lo", "cni0"}


def test_damage_to_what_is_not_there_is_an_error(simulated) -> None:
    """A case would otherwise test nothing."""
    netns = simulated.make_netns()
    for damage in (
        lambda: simulated.delete_link(netns, "eth0"),
        lambda: simulated.flush_addresses(netns, "eth0"),
        lambda: simulated.set_down(netns, "eth0"),
        lambda: simulated.set_mac(netns, "eth0", "02:00:00:00:00:01"),
        lambda: simulated.delete_route(netns, "::/0"),
        lambda: simulated.add_link(netns, "lo"),
        lambda: simulated.add_pair(netns, "eth0", "lo"),
        lambda: simulated.add_address(netns, "eth0", "10.1.0.2/24"),
        lambda: simulated.add_route(netns, "0.0.0.0/0", "10.1.0.1"),
        lambda: simulated.routes("/nowhere"),
    ):
        with pytest.raises(HostError):
            damage()


def test_a_snapshot_tells_what_changed(simulated, tmp_path) -> None:
    """In sentences, by place; files by content."""
    netns = simulated.make_netns()
    (tmp_path / "f").write_text("a")
    before = simulated.snapshot(tmp_path / "f")
    assert before.difference(simulated.snapshot(tmp_path / "f")) == []
    simulated.add_link(netns, "eth7")
    (tmp_path / "f").write_text("b")
    other = simulated.make_netns("other")
    lines = before.difference(simulated.snapshot(tmp_path / "f"))
    assert len(lines) == 3
    assert any(f"in {netns}: link eth7 appeared" in line for line in lines)
    assert any(f"in {other}: namespace appeared" in line for line in lines)
    assert any(f"{tmp_path / 'f'} changed from" in line for line in lines)


def test_a_namespace_whose_file_is_gone_is_in_no_snapshot(simulated) -> None:
    """Somebody unlinked it: a kernel would have nothing either."""
    netns = simulated.make_netns()
    Path(netns).unlink()
    assert set(simulated.snapshot().namespaces) == {HOST}
