"""The meta plugin: another does the work."""

from __future__ import annotations

import json

import pytest

from refimpl.cni.plugins import configure


def meta(_rig, delegate, **changes):
    return {"cniVersion": "1.1.0", "name": "net", "type": "meta", "delegate": delegate, **changes}


def inner(rig):
    conf = rig.conf()
    return {"type": "bridge", "ipam": conf["ipam"]}


def test_every_verb_reaches_the_delegate(rig) -> None:
    """CNI 1.1: CHECK, DEL, GC and STATUS have to be forwarded."""
    conf = meta(rig, inner(rig))
    result = rig.call("meta", "ADD", conf).document
    assert result["interfaces"][2]["name"] == "eth0"
    assert rig.call("meta", "CHECK", {**conf, "prevResult": result}).status == 0
    assert rig.call("meta", "STATUS", conf).status == 0
    assert rig.call("meta", "GC", {**conf, "cni.dev/valid-attachments": []}).status == 0
    assert rig.call("meta", "DEL", conf).status == 0
    assert rig.verbs("bridge") == ["ADD", "CHECK", "STATUS", "GC", "DEL"]
    assert rig.reserved() == {}


def test_a_name_hands_on_the_identical_stdin(rig) -> None:
    """Complete and unchanged, byte for byte."""
    raw = json.dumps({**rig.conf(), "delegate": "bridge"}, indent=2).encode()
    assert rig.run("meta", "ADD", raw).status == 0
    assert rig.calls("bridge")[0]["stdin"] == raw


def test_an_object_gets_what_a_runtime_adds(rig) -> None:
    """Name, version, runtimeConfig, args, prevResult."""
    added = {"runtimeConfig": {"mac": "02:00:00:00:00:01"}, "args": {"x": 1}}
    rig.call("meta", "ADD", meta(rig, inner(rig), **added))
    stdin = json.loads(rig.calls("bridge")[0]["stdin"])
    assert stdin == {**inner(rig), **added, "cniVersion": "1.1.0", "name": "net"}


def test_a_failing_delegate_is_undone_and_its_code_kept(rig) -> None:
    """CNI 1.1: DEL before the error is returned."""
    rig.fault("bridge", "error", "ADD", code=150, msg="no", details="why")
    answer = rig.call("meta", "ADD", meta(rig, inner(rig)))
    assert answer.document == {"cniVersion": "1.1.0", "code": 150, "msg": "no", "details": "why"}
    assert rig.verbs("bridge") == ["ADD", "DEL"]


def test_a_del_that_failed_is_asked_again(rig) -> None:
    """Success without the delegate's would leak."""
    conf = meta(rig, inner(rig))
    rig.call("meta", "ADD", conf)
    rig.fault("bridge", "error", "DEL", code=150, times=1)
    assert rig.call("meta", "DEL", conf).code == 150
    assert rig.call("meta", "DEL", conf).status == 0
    assert rig.verbs("bridge") == ["ADD", "DEL", "DEL"]
    assert rig.reserved() == {}


def test_an_older_answer_is_converted_and_a_broken_one_undone(rig) -> None:
    """One shape comes out, or none."""
    old = {"cniVersion": "0.2.0", "ip4": {"ip": "10.9.0.5/16"}}
    configure(rig.bin / "rec", answers={"ADD": [{"result": old}, {"result": {"ips": 5}}]})
    conf = meta(rig, {"type": "rec"})
    assert rig.call("meta", "ADD", conf).document["ips"] == [{"address": "10.9.0.5/16"}]
    assert rig.call("meta", "ADD", conf).code == 102
    assert rig.verbs("rec") == ["ADD", "ADD", "DEL"]


@pytest.mark.parametrize("delegate", [None, 5, "", {}, {"type": 5}, "../x", ".."])
def test_a_delegate_that_is_none_is_refused(rig, delegate) -> None:
    """Code 7: the configuration is wrong."""
    assert rig.run("meta", "ADD", meta(rig, delegate)).code == 7


def test_check_needs_prev_result(rig) -> None:
    """Before anybody is asked."""
    assert rig.call("meta", "CHECK", meta(rig, inner(rig))).code == 7
    assert rig.verbs("bridge") == []
