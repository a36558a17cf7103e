"""An IPAM plugin's breaches."""

from __future__ import annotations

import pytest

from refimpl.cni.plugins.breaches import knobs

PAIR = "cni.dev/valid-attachments"

VALID = [{"containerID": "c1", "ifname": "eth0"}]

ALL = ["C1/eth0", "C1/eth1", "c1/eth0", "c1/eth1", "c10/eth0", "c10/eth1"]

REST = [each for each in ALL if each != "c1/eth0"]


def several(valid, names=("c1", "c10", "C1")):
    """The owners that GC or DEL leave, of several attachments."""

    def tell(s):
        for name in names:
            for ifname in ("eth0", "eth1"):
                s.rig.call("host-local", "ADD", s.conf, CNI_CONTAINERID=name, CNI_IFNAME=ifname)
        if valid == "DEL":
            s.do("DEL")
        else:
            s.do("GC", change=valid)
        return sorted(set(s.rig.reserved().values()))

    return tell


def stuck(s):
    s.do("ADD")
    (s.rig.store / "net" / "10.0.0.1" / "x").mkdir(parents=True)
    return s.code("GC", change={PAIR: []}), len(s.rig.reserved())


def asked(s):
    return s.do("ADD", change={"runtimeConfig": {"ips": ["192.0.2.9"]}}).code


def second_family(s):
    conf = s.rig.conf()
    conf["ipam"]["ranges"][1] = [{"subnet": "fd00:4::/126"}]
    s.do("ADD", conf=conf, CNI_CONTAINERID="c0")
    before = len(s.rig.reserved())
    s.do("ADD", conf=conf)
    return len(s.rig.reserved()) - before


def folder(s):
    return (s.rig.store / "net").exists()


def with_folder(run):
    def tell(s):
        run(s)
        return folder(s)

    return tell


def internals(s):
    s.do("ADD")
    s.do("GC", change={PAIR: []})
    return (s.rig.store / "net" / "last_reserved_ip.0").exists()


def other_networks(s):
    s.do("ADD", change={"name": "other"})
    s.do("GC", change={PAIR: []})
    return len(s.rig.reserved("other"))


def foreign_file(s):
    s.do("ADD", CNI_CONTAINERID="c0")
    (s.rig.store / "net" / "README").touch()
    return s.code("ADD")


def reservation_moved(s):
    result = s.added()
    store = s.rig.store / "net"
    (store / "10.1.0.2").rename(store / "10.1.0.9")
    return s.code("CHECK", change={"prevResult": result})


def env_and_args(s):
    change = {"args": {"cni": {"ips": ["10.1.0.7"]}}}
    return s.added(change=change, CNI_ARGS="IP=10.1.0.8")["ips"][0]["address"]


ELSEWHERE = {"no-lock"}
"""Takes processes: test_process.py."""

# knob: (plugin, arguments, what is told, what comes of it in health, and broken)
STORIES = {
    "dual-leak": ("host-local", {}, second_family, 0, 1),
    "ipam-interfaces": ("host-local", {}, lambda s: "interfaces" in s.added(), False, True),
    "ignore-request": ("host-local", {}, asked, 7, 0),
    "env-over-args": ("host-local", {}, env_and_args, "10.1.0.7/24", "10.1.0.8/24"),
    "any-range": (
        "host-local",
        {},
        lambda s: s.code(
            "ADD",
            change={
                "ipam": {
                    "dataDir": str(s.rig.store),
                    "subnet": "10.1.0.0/24",
                    "gateway": "10.9.0.1",
                }
            },
        ),
        7,
        0,
    ),
    "del-parses-ranges": (
        "host-local",
        {},
        lambda s: s.code("DEL", change={"ipam": {"dataDir": str(s.rig.store), "subnet": "x"}}),
        0,
        7,
    ),
    "del-by-id": ("host-local", {}, several("DEL"), REST, [e for e in REST if e != "c1/eth1"]),
    "del-by-case": ("host-local", {}, several("DEL"), REST, ["c10/eth0", "c10/eth1"]),
    "del-makes-store": ("host-local", {}, with_folder(lambda s: s.do("DEL")), False, True),
    "no-release": ("host-local", {}, several("DEL"), REST, ALL),
    "check-by-id": ("host-local", {}, reservation_moved, 103, 0),
    "gc-everything": ("host-local", {}, several({PAIR: VALID}), ["c1/eth0"], []),
    "gc-by-prefix": (
        "host-local",
        {},
        several({PAIR: VALID}),
        ["c1/eth0"],
        ["c1/eth0", "c1/eth1", "c10/eth0", "c10/eth1"],
    ),
    "gc-missing-frees": ("host-local", {}, several({}), ALL, []),
    "gc-any-type": ("host-local", {}, several({PAIR: 5}), ALL, []),
    "gc-stops": ("host-local", {}, stuck, (5, 0), (5, 2)),
    "gc-silent": ("host-local", {}, stuck, (5, 0), (0, 0)),
    "gc-internals": ("host-local", {}, internals, True, False),
    "gc-other-networks": ("host-local", {}, other_networks, 2, 0),
    "gc-makes-store": (
        "host-local",
        {},
        with_folder(lambda s: s.do("GC", change={PAIR: []})),
        False,
        True,
    ),
    "store-strict": ("host-local", {}, foreign_file, 0, 999),
}


def test_every_knob_has_its_story() -> None:
    """A knob without one may do nothing at all."""
    assert set(STORIES) | ELSEWHERE == set(knobs.IPAM)


@pytest.mark.parametrize("knob", STORIES)
def test_a_knob_breaks_what_it_says(tell_twice, knob) -> None:
    """The same story twice: healthy, and with the fault."""
    plugin, arguments, tell, healthy, broken = STORIES[knob]
    assert tell_twice(plugin, knob, arguments, tell) == (healthy, broken)
