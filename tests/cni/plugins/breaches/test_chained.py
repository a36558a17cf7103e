"""A chained plugin's breaches."""

from __future__ import annotations

import pytest

from refimpl.cni.plugins.breaches import knobs

PORTS = {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}

OTHER = {"cniVersion": "0.3.1", "ips": [{"version": "4", "address": "10.1.0.2/24"}]}

RICH = {"cniVersion": "1.1.0", "x": 1, "ips": [{"address": "10.1.0.2/24", "y": 2}]}

PLAIN = {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24"}]}


def rules_gone(s):
    result = s.chain(runtimeConfig=PORTS).document
    conf = {"cniVersion": "1.1.0", "name": "net", "runtimeConfig": PORTS}
    s.rig.call("portmap", "DEL", conf)
    return s.rig.call("portmap", "CHECK", {**conf, "prevResult": result}).code


def passed(previous, version="1.1.0", what=lambda a: a.document):
    conf = {"cniVersion": version, "name": "net"}
    if previous is not None:
        conf["prevResult"] = previous
    return lambda s: what(s.rig.call("portmap", "ADD", conf))


def late(s):
    previous = s.rig.add()
    bad = {"portMappings": [{"hostPort": 80800, "containerPort": 80}]}
    conf = {"cniVersion": "1.1.0", "name": "net", "mtu": 1300, "prevResult": previous}
    code = s.rig.call("portmap", "ADD", {**conf, "runtimeConfig": bad}).code
    return code, s.rig.host.links(s.rig.netns)["eth0"].mtu


def changed_macs(s):
    document = s.chain(mac="02:00:00:00:00:01").document
    return [each["mac"] == "02:00:00:00:00:01" for each in document["interfaces"]]


# knob: (plugin, arguments, what is told, what comes of it in health, and broken)
STORIES = {
    "prev-result-optional": ("portmap", {}, passed(None, what=lambda a: a.code), 7, 0),
    "drop-prev-result": (
        "portmap",
        {},
        passed(PLAIN),
        PLAIN,
        {"cniVersion": "1.1.0", "interfaces": []},
    ),
    "change-prev-result": (
        "portmap",
        {},
        passed(PLAIN),
        PLAIN,
        {"cniVersion": "1.1.0", "ips": [{"address": "203.0.113.99/24"}]},
    ),
    "drop-unknown": ("portmap", {}, passed(RICH), RICH, PLAIN),
    "mixed-shape": ("portmap", {}, passed(OTHER), PLAIN, {**OTHER, "cniVersion": "1.1.0"}),
    "touch-all": ("portmap", {}, changed_macs, [False, False, True], [True, True, True]),
    "silent-change": ("portmap", {}, changed_macs, [False, False, True], [False, False, False]),
    "needs-runtime-config": ("portmap", {}, passed(PLAIN, what=lambda a: a.code), 0, 7),
    "late-validation": ("portmap", {}, late, (7, 1500), (7, 1300)),
    "check-misses-rules": ("portmap", {}, rules_gone, 103, 0),
}


def test_every_knob_has_its_story() -> None:
    """A knob without one may do nothing at all."""
    assert set(STORIES) == set(knobs.CHAINED)


@pytest.mark.parametrize("knob", STORIES)
def test_a_knob_breaks_what_it_says(tell_twice, knob) -> None:
    """The same story twice: healthy, and with the fault."""
    plugin, arguments, tell, healthy, broken = STORIES[knob]
    assert tell_twice(plugin, knob, arguments, tell) == (healthy, broken)
