"""The interface plugin: DEL, CHECK, GC and STATUS."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest


def test_del_leaves_nothing_and_can_be_repeated(rig) -> None:
    """A runtime repeats a DEL until it knows that it worked."""
    before = rig.host.snapshot()
    rig.add(rig.conf(ipMasq=True, isGateway=True))
    assert len(rig.host.snapshot().namespaces["host"].rules) == 2
    for _ in range(3):
        answer = rig.call("bridge", "DEL", rig.conf())
        assert (answer.status, answer.stdout) == (0, b"")
    assert before.difference(rig.host.snapshot()) == []
    assert rig.reserved() == {}


def test_del_of_what_was_never_added_writes_nothing(rig) -> None:
    """Clean-up of a failed start must not be the first trace of the container."""
    before = rig.host.snapshot(rig.folder)
    for netns in (rig.netns, "", None, str(rig.folder / "gone")):
        assert rig.call("bridge", "DEL", rig.conf(), CNI_NETNS=netns).status == 0
    lines = before.difference(rig.host.snapshot(rig.folder))
    assert [line for line in lines if "journal" not in line] == []


@pytest.mark.parametrize("what", ["", "missing", "file", "dangling", "removed"])
def test_del_without_a_namespace_releases_the_address_and_the_host_link(rig, what) -> None:
    """CNI 1.1 DEL: a missing netns is success, and IPAM is asked all the same."""
    rig.add()
    places = {"": "", "removed": rig.netns, "missing": str(rig.folder / "gone")}
    path = Path(places.get(what, str(rig.folder / what)))
    if what == "file":
        path.write_text("no namespace")
    elif what == "dangling":
        path.symlink_to(rig.folder / "nowhere")
    elif what == "removed":
        rig.host.remove_netns(rig.netns)
    answer = rig.call("bridge", "DEL", rig.conf(), CNI_NETNS=str(path) if what else "")
    assert answer.status == 0
    assert rig.reserved() == {}
    assert set(rig.host.links()) == {"lo"}
    assert path.exists() == (what in ("", "file"))


@pytest.mark.parametrize("junk", [None, {}, {"ips": 5}, "junk", []])
def test_del_makes_do_with_any_prev_result(rig, junk) -> None:
    """The cache of a runtime may be lost or broken; the container has to go anyway."""
    rig.add()
    assert rig.call("bridge", "DEL", rig.conf(prevResult=junk)).status == 0
    assert rig.reserved() == {}


def test_del_with_failing_ipam_fails_but_takes_the_link(rig) -> None:
    """The runtime has to come again for the address; the interface is ours to remove."""
    rig.add()
    rig.fault("host-local", "error", "DEL", code=120, msg="down", times=1)
    assert rig.call("bridge", "DEL", rig.conf()).code == 120
    assert "eth0" not in rig.host.links(rig.netns)
    assert rig.call("bridge", "DEL", rig.conf()).status == 0
    assert rig.reserved() == {}


def test_del_does_not_need_the_bridge(rig) -> None:
    """Somebody may have removed it before."""
    rig.add()
    rig.host.delete_link(None, "cni0")
    assert rig.call("bridge", "DEL", rig.conf()).status == 0


def test_del_spares_an_interface_that_is_not_its_own(rig) -> None:
    """A stranger's link of that name belongs to another plugin."""
    rig.host.add_link(rig.netns, "eth0")
    assert rig.call("bridge", "DEL", rig.conf()).status == 0
    assert "eth0" in rig.host.links(rig.netns)


def test_check_agrees_right_after_add_and_changes_nothing(rig) -> None:
    """A false alarm restarts a healthy pod."""
    conf = rig.conf(prevResult=rig.add())
    before = rig.host.snapshot(rig.store)
    for _ in range(3):
        answer = rig.call("bridge", "CHECK", conf)
        assert (answer.status, answer.stdout) == (0, b"")
    assert before.difference(rig.host.snapshot(rig.store)) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda host, netns: host.delete_link(netns, "eth0"),
        lambda host, netns: host.flush_addresses(netns, "eth0"),
        lambda host, netns: host.delete_route(netns, "0.0.0.0/0"),
        lambda host, netns: host.set_down(netns, "eth0"),
        lambda host, netns: host.set_mac(netns, "eth0", "02:00:00:00:00:01"),
        lambda host, _netns: host.delete_link(None, "cni0"),
    ],
)
def test_check_finds_damage(rig, damage) -> None:
    """What ADD made and is gone is what CHECK is for."""
    conf = rig.conf(prevResult=rig.add())
    damage(rig.host, rig.netns)
    assert rig.call("bridge", "CHECK", conf).code == 103


@pytest.mark.parametrize(
    "edit",
    [
        lambda result: result["ips"][0].update(address="10.1.0.99/24"),
        lambda result: result["interfaces"][2].update(name="eth9"),
        lambda result: result["interfaces"][2].update(sandbox="/elsewhere"),
        lambda result: result["routes"].append({"dst": "192.0.2.0/24"}),
    ],
)
def test_check_consults_prev_result(rig, edit) -> None:
    """CNI 1.1 CHECK: prevResult has to be looked at."""
    result = rig.add()
    edit(result)
    assert rig.call("bridge", "CHECK", rig.conf(prevResult=result)).code == 103


def test_check_without_prev_result_is_an_error(rig) -> None:
    """It MUST be given."""
    rig.add()
    for given in ({}, {"prevResult": None}):
        assert rig.call("bridge", "CHECK", rig.conf(**given)).code == 7


def test_check_tolerates_what_a_later_plugin_changed(rig) -> None:
    """prevResult is the final result of the whole list."""
    conf = rig.conf(prevResult=rig.add())
    changed = rig.call("portmap", "ADD", {**conf, "mac": "02:aa:bb:cc:dd:ee"}).document
    assert rig.call("bridge", "CHECK", rig.conf(prevResult=changed)).status == 0


def test_check_asks_ipam(rig) -> None:
    """A reservation that is gone will be given to another."""
    conf = rig.conf(prevResult=rig.add())
    shutil.rmtree(rig.store)
    assert rig.call("bridge", "CHECK", conf).code == 103


def test_gc_frees_what_is_not_valid_and_asks_ipam_once(rig) -> None:
    """Of this network only, by the exact pair."""
    rig.add()
    rig.add(CNI_IFNAME="eth1")
    rig.add(rig.conf(name="other"), CNI_CONTAINERID="c2", CNI_NETNS=rig.host.make_netns())
    valid = [{"containerID": "c1", "ifname": "eth1"}]
    raw = json.dumps(rig.conf(**{"cni.dev/valid-attachments": valid})).encode()
    assert rig.call("bridge", "GC", raw).status == 0
    assert set(rig.host.links(rig.netns)) == {"lo", "eth1"}
    assert set(rig.reserved().values()) == {"c1/eth1"}
    assert set(rig.reserved("other").values()) == {"c2/eth0"}
    assert [c["stdin"] for c in rig.calls("host-local") if c["verb"] == "GC"] == [raw]


def test_gc_with_failing_ipam_frees_the_links_and_reports(rig) -> None:
    """CNI 1.1 GC: go on over errors."""
    rig.add()
    rig.fault("host-local", "error", "GC", code=120)
    answer = rig.call("bridge", "GC", rig.conf(**{"cni.dev/valid-attachments": []}))
    assert answer.code == 120
    assert "eth0" not in rig.host.links(rig.netns)


def test_status_asks_ipam_and_keeps_its_code(rig) -> None:
    """51 says that running containers suffer too."""
    assert rig.call("bridge", "STATUS", rig.conf()).status == 0
    rig.fault("host-local", "error", "STATUS", code=51)
    assert rig.call("bridge", "STATUS", rig.conf()).code == 51
    assert rig.call("bridge", "ADD", rig.conf()).status == 0


def test_status_sees_a_broken_kernel_file(rig) -> None:
    """ADD could not work either."""
    rig.host.kernel.write_text("{")
    assert rig.call("bridge", "STATUS", rig.conf()).code == 50
