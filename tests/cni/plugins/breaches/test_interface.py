"""An interface plugin's breaches, its delegate's part included."""

from __future__ import annotations

import shutil

import pytest

from refimpl.cni.plugins import configure
from refimpl.cni.plugins.breaches import knobs


def after_del(what, **env):
    def tell(s):
        s.rig.add()
        s.do("DEL", **env)
        return what(s)

    return tell


def checked(damage=lambda _: None, edit=lambda _: None, conf=lambda s: s.conf):
    def tell(s):
        result = s.added(conf=conf(s))
        damage(s)
        edit(result)
        return s.code("CHECK", conf=conf(s), change={"prevResult": result})

    return tell


def twice(s):
    s.rig.add()
    s.code("DEL")
    return s.code("DEL")


def ipam_fails(s):
    s.rig.fault("host-local", "stdout", "ADD", text="{}")
    s.do("ADD")
    return ("eth0" in s.rig.host.links(s.rig.netns), s.rig.verbs("host-local"))


def stranger(s):
    s.rig.host.add_link(s.rig.netns, "eth0")
    mac = s.rig.host.links(s.rig.netns)["eth0"].mac
    code = s.code("ADD")
    links = s.rig.host.links(s.rig.netns)
    return code, "eth0" in links and links["eth0"].mac == mac


def repeated(s):
    s.rig.add()
    s.do("ADD")
    return len(s.rig.reserved())


def own(verb):
    def tell(s):
        answer = s.do(verb, CNI_NETNS=s.rig.host.own_netns())
        return answer.status, answer.stdout.count(b"\n")

    return tell


def delegated(what, **env):
    def tell(s):
        s.do("ADD", **env)
        call = s.rig.calls("host-local")[0]
        return what(s.rig.calls("bridge")[0], call)

    return tell


def failing_delegate(verb, code):
    def tell(s):
        s.rig.fault("host-local", "error", verb, code=code)
        return s.code(verb)

    return tell


def no_ipam(verb):
    def tell(s):
        conf = {k: v for k, v in s.conf.items() if k != "ipam"}
        change = {"prevResult": s.added(conf=conf)} if verb == "CHECK" else {}
        return s.code(verb, conf=conf, change=change)

    return tell


def collected(s):
    s.rig.add()
    s.do("GC", change={"cni.dev/valid-attachments": []})
    return "eth0" in s.rig.host.links(s.rig.netns)


def ifnames(s):
    return [each["name"] for each in s.added().get("interfaces", [])][-1:]


def link(what):
    def tell(s):
        result = s.added()
        return what(s.rig.host.links(s.rig.netns)["eth0"], result)

    return tell


def pods(s):
    two = s.rig.host.make_netns("two")
    args = {"CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAME=p"}
    s.do("ADD", **args)
    return s.code("ADD", CNI_CONTAINERID="c2", CNI_NETNS=two, **args)


def remaining_address(**env):
    return after_del(lambda s: len(s.rig.reserved()), **env)


def mac_changed_later(s):
    result = s.added()
    s.rig.host.set_mac(s.rig.netns, "eth0", "02:00:00:00:00:01")
    result["interfaces"][2]["mac"] = "02:00:00:00:00:01"
    return s.code("CHECK", change={"prevResult": result})


def made_path(s):
    path = s.rig.folder / "gone"
    s.do("DEL", CNI_NETNS=str(path))
    return path.exists()


def foreign_path(s):
    path = s.rig.folder / "plain"
    path.touch()
    return s.code("DEL", CNI_NETNS=str(path))


def stops_at_ipam(s):
    s.rig.add()
    s.rig.fault("host-local", "error", "DEL")
    s.do("DEL")
    return "eth0" in s.rig.host.links(s.rig.netns)


def asks_again(s):
    s.rig.add()
    s.rig.fault("host-local", "error", "DEL", times=1)
    s.do("DEL")
    s.do("DEL")
    return len(s.rig.reserved())


def bridge_gone(s):
    s.rig.add()
    s.rig.host.delete_link(None, "cni0")
    return s.code("DEL")


def foreign_link(s):
    s.rig.host.add_link(s.rig.netns, "eth0")
    s.do("DEL")
    return "eth0" in s.rig.host.links(s.rig.netns)


def no_address(s):
    configure(s.rig.bin / "rec", answers={"ADD": {"result": {"cniVersion": "1.1.0"}}})
    return s.code("ADD", conf=s.rig.conf(ipam={"type": "rec"}))


def junk_ipam(s):
    configure(s.rig.bin / "rec", answers={"ADD": {"stdout": "junk"}})
    return s.code("ADD", conf=s.rig.conf(ipam={"type": "rec"}))


def talking_ipam(s):
    configure(s.rig.bin / "rec", role="ipam", answers={"ADD": {"stderr": "hello", "status": 1}})
    return b"hello" in s.do("ADD", conf=s.rig.conf(ipam={"type": "rec"})).stderr


# knob: (plugin, arguments, what is told, what comes of it in health, and broken)
STORIES = {
    "own-netns-accepted": ("bridge", {}, own("ADD"), (1, 1), (0, 1)),
    "own-netns-late": ("bridge", {}, own("ADD"), (1, 1), (1, 2)),
    "del-own-netns": ("bridge", {}, own("DEL"), (1, 1), (0, 0)),
    "ignores-override": (
        "bridge",
        {},
        lambda s: s.code("ADD", CNI_NETNS=s.rig.host.own_netns(), CNI_NETNS_OVERRIDE="1"),
        0,
        8,
    ),
    "any-netns": ("bridge", {}, lambda s: s.code("ADD", CNI_NETNS="/nowhere"), 4, 0),
    "overwrite-link": ("bridge", {}, stranger, (100, True), (0, False)),
    "drop-link-on-failure": ("bridge", {}, stranger, (100, True), (100, False)),
    "rollback-frees-first": ("bridge", {}, repeated, 2, 0),
    "leak": ("bridge", {}, ipam_fails, (False, ["ADD", "DEL"]), (False, ["ADD"])),
    "down-link": ("bridge", {}, link(lambda found, _: found.up), True, False),
    "wrong-mac": (
        "bridge",
        {},
        link(lambda found, r: r["interfaces"][2]["mac"] == found.mac),
        True,
        False,
    ),
    "wrong-mtu": (
        "bridge",
        {},
        link(lambda found, r: r["interfaces"][2]["mtu"] == found.mtu),
        True,
        False,
    ),
    "no-interfaces": ("bridge", {}, ifnames, ["eth0"], []),
    "missing-address": ("bridge", {}, link(lambda found, _: len(found.addresses)), 2, 0),
    "missing-route": (
        "bridge",
        {},
        lambda s: s.added() and len(s.rig.host.routes(s.rig.netns)),
        4,
        2,
    ),
    "stray-link": ("bridge", {}, lambda s: s.added() and len(s.rig.host.links()), 3, 4),
    "host-sandbox": ("bridge", {}, lambda s: "sandbox" in s.added()["interfaces"][0], False, True),
    "no-address-accepted": ("bridge", {}, no_address, 102, 0),
    "accept-junk-ipam": ("bridge", {}, junk_ipam, 102, 0),
    "path-reversed": (
        "bridge",
        {},
        delegated(lambda _, d: d["env"]["CNI_PATH"], CNI_PATH="/a:/b"),
        "/a:/b",
        "/b:/a",
    ),
    "changed-stdin": ("bridge", {}, delegated(lambda m, d: m["stdin"] == d["stdin"]), True, False),
    "drop-args": (
        "bridge",
        {},
        delegated(lambda _, d: d["env"].get("CNI_ARGS"), CNI_ARGS="A=b"),
        "A=b",
        None,
    ),
    "swallow-stderr": ("bridge", {}, talking_ipam, True, False),
    "swallow-code": ("bridge", {}, failing_delegate("STATUS", 51), 51, 999),
    "swallow-error": ("bridge", {}, failing_delegate("STATUS", 51), 51, 0),
    "forget-ipam": ("bridge", {}, remaining_address(), 0, 2),
    "forget-ipam-without-netns": ("bridge", {}, remaining_address(CNI_NETNS=""), 0, 2),
    "forget-link": (
        "bridge",
        {},
        after_del(lambda s: "eth0" in s.rig.host.links(s.rig.netns)),
        False,
        True,
    ),
    "del-once": ("bridge", {}, twice, 0, 102),
    "del-needs-netns": ("bridge", {}, lambda s: s.code("DEL", CNI_NETNS=""), 0, 102),
    "del-needs-file": ("bridge", {}, foreign_path, 0, 102),
    "del-makes-netns": ("bridge", {}, made_path, False, True),
    "del-needs-prev-result": ("bridge", {}, lambda s: s.code("DEL"), 0, 102),
    "del-needs-bridge": ("bridge", {}, bridge_gone, 0, 102),
    "del-stops-at-ipam": ("bridge", {}, stops_at_ipam, False, True),
    "del-asks-ipam-once": ("bridge", {}, asks_again, 0, 2),
    "del-foreign-link": ("bridge", {}, foreign_link, True, False),
    "check-nothing": ("bridge", {}, lambda s: s.code("CHECK"), 7, 0),
    "check-ignores-prev-result": (
        "bridge",
        {},
        checked(edit=lambda r: r["interfaces"][2].update(mac="02:00:00:00:00:77")),
        103,
        0,
    ),
    "check-ignores-ipam": ("bridge", {}, checked(lambda s: shutil.rmtree(s.rig.store)), 103, 0),
    "check-needs-ipam": ("bridge", {}, no_ipam("CHECK"), 0, 102),
    "check-own-mac": ("bridge", {}, mac_changed_later, 0, 103),
    "skip": (
        "bridge",
        {"what": "route"},
        checked(lambda s: s.rig.host.delete_route(s.rig.netns, "::/0")),
        103,
        0,
    ),
    "gc-nothing": ("bridge", {}, collected, False, True),
    "gc-not-forwarded": (
        "bridge",
        {},
        lambda s: s.do("GC") and s.rig.verbs("host-local"),
        ["GC"],
        [],
    ),
    "status-always": ("bridge", {}, failing_delegate("STATUS", 51), 51, 0),
    "status-not-forwarded": ("bridge", {}, failing_delegate("STATUS", 51), 51, 0),
    "status-needs-ipam": ("bridge", {}, no_ipam("STATUS"), 0, 102),
    "key-by-pod": ("bridge", {}, pods, 0, 100),
}


def test_every_knob_has_its_story() -> None:
    """A knob without one may do nothing at all."""
    assert set(STORIES) == set(knobs.INTERFACE)


@pytest.mark.parametrize("knob", STORIES)
def test_a_knob_breaks_what_it_says(tell_twice, knob) -> None:
    """The same story twice: healthy, and with the fault."""
    plugin, arguments, tell, healthy, broken = STORIES[knob]
    assert tell_twice(plugin, knob, arguments, tell) == (healthy, broken)
