"""What a plugin makes of its request, and VERSION."""

from __future__ import annotations

import pytest

from refimpl.cni.plugins.breaches import knobs

SUPPORTED = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]


# knob: (plugin, arguments, what is told, what comes of it in health, and broken)
STORIES = {
    "one-missing-variable": (
        "bridge",
        {},
        lambda s: "CNI_IFNAME" in s.do("ADD", CNI_IFNAME=None, CNI_NETNS=None).document["msg"],
        True,
        False,
    ),
    "no-variable-check": (
        "bridge",
        {},
        lambda s: s.code("GC", conf=s.rig.conf(ipam={}), CNI_PATH=None),
        4,
        0,
    ),
    "needs-cni-path": (
        "bridge",
        {},
        lambda s: s.code("DEL", conf=s.rig.conf(ipam={}), CNI_PATH=None),
        0,
        4,
    ),
    "no-id-check": (
        "bridge",
        {},
        lambda s: s.code("DEL", conf=s.rig.conf(ipam={}), CNI_CONTAINERID="-a"),
        4,
        0,
    ),
    "no-ifname-check": (
        "bridge",
        {},
        lambda s: s.code("DEL", conf=s.rig.conf(ipam={}), CNI_IFNAME="a/b"),
        4,
        0,
    ),
    "no-name-check": (
        "bridge",
        {},
        lambda s: s.code("DEL", change={"name": "x y", "ipam": {}}),
        7,
        0,
    ),
    "any-version": (
        "bridge",
        {},
        lambda s: s.code("DEL", change={"cniVersion": "9.9.9", "ipam": {}}),
        1,
        0,
    ),
    "verb-in-any-version": (
        "bridge",
        {},
        lambda s: s.code("STATUS", change={"cniVersion": "1.0.0", "ipam": {}}),
        1,
        0,
    ),
    "any-case-verb": ("bridge", {}, lambda s: s.code("DEL", CNI_COMMAND="del "), 4, 0),
    "silent-without-command": (
        "bridge",
        {},
        lambda s: s.do("ADD", CNI_COMMAND=None)[:2] == (0, b""),
        False,
        True,
    ),
    "id-before-verb": ("bridge", {}, lambda s: s.code("BOGUS", CNI_CONTAINERID=None), 4, 3),
    "unknown-verb": (
        "bridge",
        {"verb": "*", "unknown": "STATUS"},
        lambda s: s.code("STATUS"),
        0,
        4,
    ),
    "strict-unknown": ("bridge", {}, lambda s: s.code("ADD", change={"zzz": 1}), 0, 999),
    "strict-args": ("bridge", {}, lambda s: s.code("ADD", change={"args": {"zzz": 1}}), 0, 7),
    "strict-cni-args": (
        "bridge",
        {},
        lambda s: s.code("ADD", CNI_ARGS="IgnoreUnknown=1;A=b"),
        0,
        4,
    ),
    "version-own": (
        "bridge",
        {},
        lambda s: s.do("VERSION", change={"cniVersion": "0.4.0"}).document["cniVersion"],
        "0.4.0",
        "1.1.0",
    ),
    "version-strict": ("bridge", {}, lambda s: s.rig.call("bridge", "VERSION", b"junk").code, 0, 6),
    "version-lies": (
        "bridge",
        {},
        lambda s: s.do("VERSION").document["supportedVersions"][-1],
        "1.1.0",
        "1.2.0",
    ),
    "version-unsorted": (
        "bridge",
        {},
        lambda s: s.do("VERSION").document["supportedVersions"],
        SUPPORTED,
        [*reversed(SUPPORTED), "1.1.0"],
    ),
    "version-empty": (
        "bridge",
        {},
        lambda s: s.do("VERSION").document["supportedVersions"],
        SUPPORTED,
        [],
    ),
}


def test_every_knob_has_its_story() -> None:
    """A knob without one may do nothing at all."""
    assert set(STORIES) == set(knobs.REQUEST)


@pytest.mark.parametrize("knob", STORIES)
def test_a_knob_breaks_what_it_says(tell_twice, knob) -> None:
    """The same story twice: healthy, and with the fault."""
    plugin, arguments, tell, healthy, broken = STORIES[knob]
    assert tell_twice(plugin, knob, arguments, tell) == (healthy, broken)
