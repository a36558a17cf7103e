"""What a plugin prints and how it ends."""

from __future__ import annotations

import json

import pytest

from refimpl.cni.plugins.breaches import knobs

PLAIN = {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24"}]}


def output(verb="ADD", what=lambda a: a, **env):
    return lambda s: what(s.do(verb, **env))


def error(what=lambda a: a.document):
    return lambda s: what(s.do("ADD", CNI_IFNAME="a/b"))


def loads(data):
    try:
        return json.loads(data)
    except ValueError:
        return None


def passed(previous, version="1.1.0", what=lambda a: a.document):
    conf = {"cniVersion": version, "name": "net"}
    if previous is not None:
        conf["prevResult"] = previous
    return lambda s: what(s.rig.call("portmap", "ADD", conf))


# knob: (plugin, arguments, what is told, what comes of it in health, and broken)
STORIES = {
    "noise-before": ("bridge", {}, output(what=lambda a: a.stdout[:1]), b"{", b"s"),
    "noise-after": ("bridge", {"text": "x"}, output(what=lambda a: a.stdout[-1:]), b"\n", b"x"),
    "result-then-error": ("bridge", {}, error(lambda a: a.stdout.count(b"\n")), 1, 2),
    "error-on-stderr": ("bridge", {}, error(lambda a: bool(a.stdout)), True, False),
    "success-with-error": (
        "bridge",
        {},
        error(lambda a: (a.status, "code" in json.loads(a.stdout))),
        (1, True),
        (0, True),
    ),
    "failure-with-result": (
        "bridge",
        {},
        output(what=lambda a: (a.status, "ips" in json.loads(a.stdout))),
        (0, True),
        (1, True),
    ),
    "output-without-need": ("bridge", {}, output("DEL", lambda a: bool(a.stdout)), False, True),
    "traceback": (
        "bridge",
        {},
        output(what=lambda a: (a.status, b"Traceback" in a.stderr)),
        (0, False),
        (1, True),
    ),
    "stdout": (
        "bridge",
        {"text": "hi", "status": 3},
        output("DEL", lambda a: a[:2]),
        (0, b""),
        (3, b"hi"),
    ),
    "exit": ("bridge", {"status": 9}, output("DEL", lambda a: a[:2]), (0, b""), (9, b"")),
    "error": (
        "bridge",
        {"code": 11, "msg": "m", "details": "d"},
        output("DEL", lambda a: loads(a.stdout)),
        None,
        {"cniVersion": "1.1.0", "code": 11, "msg": "m", "details": "d"},
    ),
    "foreign-members": (
        "bridge",
        {},
        output(what=lambda a: "version" in a.document["ips"][0]),
        False,
        True,
    ),
    "null-arrays": (
        "portmap",
        {},
        passed(PLAIN, what=lambda a: a.document.get("routes", 5)),
        5,
        None,
    ),
    "float-numbers": (
        "bridge",
        {},
        output(what=lambda a: b'"interface":2.0' in a.stdout),
        False,
        True,
    ),
    "index-out-of-range": (
        "bridge",
        {},
        output(what=lambda a: a.document["ips"][0]["interface"]),
        2,
        3,
    ),
    "no-sandbox": (
        "bridge",
        {},
        output(what=lambda a: "sandbox" in a.document["interfaces"][2]),
        True,
        False,
    ),
    "code": ("bridge", {"code": 0}, error(lambda a: a.document["code"]), 4, 0),
    "no-msg": ("bridge", {}, error(lambda a: a.document["msg"] == ""), False, True),
    "edit": (
        "bridge",
        {"pointer": "/ips/0/gateway", "value": "x"},
        output(what=lambda a: a.document["ips"][0]["gateway"]),
        "10.1.0.1",
        "x",
    ),
    "signal": ("bridge", {"number": 6}, output(what=lambda a: a.status), 0, -6),
    "crash-after": (
        "bridge",
        {"point": "ipam"},
        lambda s: (
            s.do("ADD").status,
            len(s.rig.reserved()),
            "eth0" in s.rig.host.links(s.rig.netns),
        ),
        (0, 2, True),
        (-9, 2, False),
    ),
}


def test_every_knob_has_its_story() -> None:
    """A knob without one may do nothing at all."""
    assert set(STORIES) == set(knobs.OUTPUT) | {"signal", "crash-after"}


@pytest.mark.parametrize("knob", STORIES)
def test_a_knob_breaks_what_it_says(tell_twice, knob) -> None:
    """The same story twice: healthy, and with the fault."""
    plugin, arguments, tell, healthy, broken = STORIES[knob]
    assert tell_twice(plugin, knob, arguments, tell) == (healthy, broken)
