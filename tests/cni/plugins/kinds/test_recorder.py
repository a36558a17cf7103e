"""The recorder: what came is noted to the byte, what goes back is as told."""

from __future__ import annotations

import os

import pytest

from refimpl.cni.plugins import configure


def test_it_notes_environment_stdin_times_and_namespace(rig) -> None:
    """A case looks at all of it."""
    raw = b'\xff not json \x00"'
    rig.run("rec", "ADD", raw, FOO="1;=", CNI_ARGS="é")
    (call,) = rig.calls("rec")
    assert call["stdin"] == raw
    assert call["env"] == rig.env("ADD", FOO="1;=", CNI_ARGS="é")
    assert call["ppid"] == os.getpid()
    assert call["netns_inode"] == os.stat(rig.netns).st_ino
    assert call["own_inode"] == os.stat("/proc/self/ns/net").st_ino
    assert call["start_ns"] < call["end_ns"]
    assert (call["status"], call["verb"], call["kind"]) == (0, "ADD", "recorder")


def test_it_passes_prev_result_on_or_makes_a_result_of_its_own(rig) -> None:
    """Alone, in a chain, or as IPAM."""
    first = rig.call("rec", "ADD", {"cniVersion": "1.0.0", "name": "n"}).document
    assert first["interfaces"] == [{"name": "eth0", "sandbox": rig.netns}]
    assert first["ips"][0]["interface"] == 0
    second = {"cniVersion": "1.0.0", "name": "n", "prevResult": first}
    assert rig.call("rec", "ADD", second).document == first
    configure(rig.bin / "rec", role="ipam")
    third = rig.call("rec", "ADD", {"cniVersion": "1.0.0", "name": "n"}).document
    assert set(third) == {"cniVersion", "ips"}
    assert third["ips"][0]["address"] != first["ips"][0]["address"]
    for verb in ("DEL", "CHECK", "GC", "STATUS"):
        assert rig.call("rec", verb, second)[:2] == (0, b"")
    assert rig.call("rec", "VERSION", second).document["cniVersion"] == "1.0.0"


def test_canned_answers_come_one_a_call_and_the_last_for_good(rig) -> None:
    """With the call's own values filled in."""
    result = {"cniVersion": "$cniVersion", "interfaces": [{"name": "$CNI_IFNAME"}]}
    answers = [
        {"result": result},
        {"error": {"code": 11, "msg": "later"}},
        {"stdout": "{", "stderr": "log", "status": 3},
    ]
    configure(rig.bin / "rec", answers={"ADD": answers})
    conf = {"cniVersion": "0.4.0", "name": "n"}
    assert rig.run("rec", "ADD", conf).document == {
        "cniVersion": "0.4.0",
        "interfaces": [{"name": "eth0"}],
    }
    assert rig.run("rec", "ADD", conf).document == {
        "cniVersion": "0.4.0",
        "code": 11,
        "msg": "later",
    }
    for _ in range(2):
        assert rig.run("rec", "ADD", conf) == (3, b"{", b"log")
    configure(rig.bin / "rec", answers={"ADD": answers})
    assert rig.run("rec", "ADD", conf).status == 0


def test_it_stands_in_front_of_another_plugin(rig) -> None:
    """Whose streams and status come out unchanged."""
    configure(rig.bin / "rec", target=str(rig.bin / "host-local"))
    good = rig.run("rec", "ADD", rig.conf())
    assert good.document["ips"][0]["address"] == "10.1.0.2/24"
    bad = rig.run("rec", "ADD", b"{")
    assert bad == rig.run("host-local", "ADD", b"{")
    configure(rig.bin / "rec", target=str(rig.bin / "nobody"))
    assert rig.run("rec", "ADD", rig.conf()).code == 102


def test_what_it_is_told_comes_before_the_other_plugin(rig) -> None:
    """One verb can fail while all the others work; the plugin is found by its name too."""
    answers = {"DEL": {"error": {"code": 11, "msg": "later"}}}
    configure(rig.bin / "rec", target="host-local", answers=answers)
    assert rig.run("rec", "ADD", rig.conf()).document["ips"][0]["address"] == "10.1.0.2/24"
    assert rig.run("rec", "DEL", rig.conf()).code == 11


@pytest.mark.parametrize("verb", ["", "BOGUS"])
def test_it_checks_nothing(rig, verb) -> None:
    """What a runtime does wrong is for the case to judge."""
    answer = rig.run("rec", verb, b"", CNI_CONTAINERID=None, CNI_IFNAME=None)
    assert answer[:2] == (0, b"")
    assert rig.verbs("rec") == [verb]


def test_variables_given_twice_are_noted(rig) -> None:
    """An exec can do that, a dictionary cannot show it."""
    import subprocess

    from refimpl.cni.plugins import records

    code = (
        "import ctypes, sys\n"
        "p = sys.argv[1].encode()\n"
        "e = [b'CNI_COMMAND=ADD', b'CNI_ARGS=a', b'CNI_ARGS=b', None]\n"
        "c = ctypes.CDLL(None)\n"
        "c.execve(p, (ctypes.c_char_p * 2)(p, None), (ctypes.c_char_p * 4)(*e))\n"
    )
    import sys

    subprocess.run([sys.executable, "-c", code, rig.bin / "rec"], input=b"{}", check=True)
    (call,) = records(rig.journal)
    assert call["env"]["CNI_ARGS"] == "a"
    assert call["env_list"] == ["CNI_COMMAND=ADD", "CNI_ARGS=a", "CNI_ARGS=b"]
