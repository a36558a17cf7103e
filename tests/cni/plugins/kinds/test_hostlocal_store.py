"""The IPAM plugin: what it keeps, and how it comes free again."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from refimpl.cni.format.addresses import address
from refimpl.cni.format.errors import CniError
from refimpl.cni.plugins.kinds.store import Store

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


def test_the_store_is_as_host_local_writes_it(rig) -> None:
    """Tools and people look there."""
    add(rig, rig.conf())
    assert (rig.store / "net" / "10.1.0.2").read_bytes() == b"c1\r\neth0"
    assert (rig.store / "net" / "last_reserved_ip.0").read_text() == "10.1.0.2"
    assert (rig.store / "net" / "last_reserved_ip.1").read_text() == "fd00:1::2"
    assert {p.name for p in (rig.store / "net").iterdir()} == {
        "10.1.0.2",
        "fd00:1::2",
        "last_reserved_ip.0",
        "last_reserved_ip.1",
        "lock",
    }


def test_del_finds_the_reservation_whatever_the_ranges_are_now(rig) -> None:
    """The configuration may have changed since ADD."""
    add(rig, rig.conf())
    conf = ranges(rig, "192.0.2.0/24")
    assert rig.call("host-local", "DEL", conf).status == 0
    assert rig.reserved() == {}


def test_ids_that_differ_in_case_are_two(rig) -> None:
    """And so are an id and its beginning."""
    for name in ("abc", "ABC", "ab"):
        add(rig, rig.conf(), name)
    rig.call("host-local", "DEL", rig.conf(), CNI_CONTAINERID="abc")
    assert set(rig.reserved().values()) == {"ABC/eth0", "ab/eth0"}


def test_an_entry_of_an_old_version_is_freed_by_its_id(rig) -> None:
    """Before interface names were noted the id stood alone."""
    add(rig, rig.conf(), "other")
    (rig.store / "net" / "10.1.0.9").write_bytes(b"c1")
    assert rig.call("host-local", "DEL", rig.conf()).status == 0
    assert set(rig.reserved().values()) == {"other/eth0"}


def test_check_wants_this_address_for_this_attachment(rig) -> None:
    """An id alone proves nothing."""
    conf = rig.conf()
    result = add(rig, conf).document
    good = rig.call("host-local", "CHECK", {**conf, "prevResult": result})
    assert (good.status, good.stdout) == (0, b"")
    other = {**result, "ips": [{"address": "10.1.0.99/24"}, result["ips"][1]]}
    assert rig.call("host-local", "CHECK", {**conf, "prevResult": other}).code == 103
    (rig.store / "net" / "10.1.0.2").unlink()
    assert rig.call("host-local", "CHECK", {**conf, "prevResult": result}).code == 103
    assert rig.call("host-local", "CHECK", conf).code == 7


def test_gc_matches_the_exact_pair_and_keeps_its_own_files(rig) -> None:
    """Not the id alone, not its beginning; entries of old versions by id."""
    for name, ifname in itertools.product(("a", "ab"), ("eth0", "eth1")):
        add(rig, rig.conf(), name, CNI_IFNAME=ifname)
    add(rig, rig.conf(name="other"), "z")
    (rig.store / "net" / "10.1.0.90").write_bytes(b"a")
    (rig.store / "net" / "10.1.0.91").write_bytes(b"gone")
    valid = [{"containerID": "a", "ifname": "eth1", "more": 1}, {"containerID": "x", "ifname": "y"}]
    for _ in range(2):
        answer = rig.call("host-local", "GC", rig.conf(**{PAIR: valid}))
        assert (answer.status, answer.stdout) == (0, b"")
    assert set(rig.reserved().values()) == {"a/eth1", "a"}
    assert set(rig.reserved("other").values()) == {"z/eth0"}
    assert (rig.store / "net" / "lock").exists()
    assert (rig.store / "net" / "last_reserved_ip.0").exists()
    assert rig.call("host-local", "GC", rig.conf(**{PAIR: []})).status == 0
    assert rig.reserved() == {}


@pytest.mark.parametrize("given", [{}, {PAIR: None}])
def test_gc_without_a_list_frees_nothing(rig, given) -> None:
    """Some runtimes send none; that is not an empty one."""
    add(rig, rig.conf())
    assert rig.call("host-local", "GC", rig.conf(**given)).status == 0
    assert len(rig.reserved()) == 2


@pytest.mark.parametrize(
    "given", [5, {}, "x", [5], [{}], [{"containerID": "a"}], [{"containerID": 1, "ifname": "b"}]]
)
def test_gc_with_a_malformed_list_frees_nothing(rig, given) -> None:
    """Code 7: a typing mistake must not cost running containers their addresses."""
    add(rig, rig.conf())
    assert rig.call("host-local", "GC", rig.conf(**{PAIR: given})).code == 7
    assert len(rig.reserved()) == 2


def test_gc_goes_on_over_an_entry_that_cannot_be_removed(rig) -> None:
    """The rest is freed, the failure reported."""
    add(rig, rig.conf())
    stuck = rig.store / "net" / "10.1.0.200"
    (stuck / "inside").mkdir(parents=True)
    answer = rig.call("host-local", "GC", rig.conf(**{PAIR: []}))
    assert answer.code == 5
    assert "10.1.0.200" in answer.document["details"]
    assert rig.reserved() == {}


def test_foreign_files_in_the_store_break_nothing(rig) -> None:
    """A crash of the machine leaves empty files, people leave theirs."""
    add(rig, rig.conf(), "c0")
    folder = rig.store / "net"
    (folder / "10.1.0.3").write_bytes(b"")
    (folder / "10.1.0.4").write_bytes(b"\xff\xfe\x00")
    (folder / "README").write_bytes(b"hi")
    (folder / "last_reserved_ip.0").write_bytes(b"")
    assert addresses(add(rig, rig.conf())) == ["10.1.0.5/24", "fd00:1::3/64"]
    assert rig.call("host-local", "DEL", rig.conf()).status == 0
    assert (folder / "README").exists()


def test_a_store_that_cannot_be_used_is_an_input_output_error(rig) -> None:
    """A file where the directory belongs."""
    rig.store.write_text("x")
    assert add(rig, rig.conf()).code == 5
    assert rig.call("host-local", "STATUS", rig.conf()).code == 50
    assert rig.call("host-local", "DEL", rig.conf()).status == 0


def test_status_leaves_no_trace(rig) -> None:
    """It is asked every few seconds."""
    answer = rig.call("host-local", "STATUS", rig.conf())
    assert (answer.status, answer.stdout) == (0, b"")
    assert not rig.store.exists()


@pytest.mark.parametrize("point", ["start", "address", "reserve", "result"])
def test_del_after_a_kill_leaves_nothing(rig, point) -> None:
    """And the lock of the killed one blocks nobody."""
    rig.fault("host-local", "crash-after", "ADD", point=point, times=1)
    assert rig.run("host-local", "ADD", rig.conf()).status == -9
    assert rig.run("host-local", "DEL", rig.conf()).status == 0
    assert rig.reserved() == {}
    assert rig.run("host-local", "ADD", rig.conf()).status == 0


@pytest.mark.parametrize("name", ["lock", ".new"])
def test_a_link_in_the_store_is_not_followed(name: str, tmp_path: Path) -> None:
    """Its target is a file of somebody else, which an entry would overwrite."""
    precious, folder = tmp_path / "precious", tmp_path / "store"
    precious.write_text("precious")
    folder.mkdir()
    (folder / name).symlink_to(precious)
    with pytest.raises(CniError, match="symbolic links"), Store(str(folder)) as store:
        store.take(address("10.0.0.1"), ("container", "eth0"))
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("name", ["lock", ".new", "last_reserved_ip.0"])
def test_a_fifo_in_the_store_keeps_nobody_waiting(rig, name: str) -> None:
    """It is what a killed plugin left half written."""
    (rig.store / "net").mkdir(parents=True)
    os.mkfifo(rig.store / "net" / name)
    answer = rig.run("host-local", "ADD", rig.conf())
    assert answer.status == 0, answer.document
