"""The contract that every kind keeps: verbs, variables, stdin, versions, errors."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refimpl.cni.plugins import ProcessOnly, main

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
KINDS = ("bridge", "host-local", "portmap", "meta")
REQUIRED = {
    "ADD": ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
    "DEL": ["CNI_CONTAINERID", "CNI_IFNAME"],
    "CHECK": ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
    "GC": ["CNI_PATH"],
}


@pytest.mark.parametrize("plugin", KINDS)
@pytest.mark.parametrize("version", [*VERSIONS, "9.9.9"])
def test_version_echoes_the_version_asked_for(rig, plugin, version) -> None:
    """CNI 1.1 VERSION: cniVersion is the one of the request."""
    answer = rig.call(plugin, "VERSION", {"cniVersion": version}, CNI_PATH=None)
    assert answer.document == {"cniVersion": version, "supportedVersions": list(VERSIONS)}


@pytest.mark.parametrize("stdin", [b"", b"garbage", b"[]", b'{"cniVersion": 5}', b"\xff"])
def test_version_answers_whatever_is_on_stdin(rig, stdin) -> None:
    """Some runtimes send nothing."""
    answer = rig.call("bridge", "VERSION", stdin, CNI_NETNS="dummy", CNI_IFNAME="dummy")
    assert answer.status == 0
    assert answer.document["cniVersion"] == "1.1.0"


def test_a_plugin_may_speak_fewer_versions(rig) -> None:
    """Settings say which."""
    old = {"versions": ["0.3.0", "0.4.0"]}
    status, out, _ = main("chained", {"CNI_COMMAND": "VERSION"}, b"{}", old)
    assert (status, json.loads(out)["supportedVersions"]) == (0, ["0.3.0", "0.4.0"])
    status, out, _ = main("chained", rig.env("ADD"), json.dumps(rig.conf()).encode(), old)
    assert json.loads(out)["code"] == 1


@pytest.mark.parametrize("plugin", KINDS)
@pytest.mark.parametrize("verb", [None, "", "add", "BOGUS", "ADD ", "UPDATE"])
def test_an_unknown_verb_is_refused_by_name(rig, plugin, verb) -> None:
    """Code 4 about CNI_COMMAND, whatever else is missing."""
    for env in ({}, {"CNI_CONTAINERID": None}):
        answer = rig.call(plugin, verb or "", rig.conf(), **{"CNI_COMMAND": verb, **env})
        assert answer.code == 4
        assert "CNI_COMMAND" in answer.document["msg"]


@pytest.mark.parametrize("plugin", KINDS)
@pytest.mark.parametrize("verb", REQUIRED)
def test_every_missing_variable_is_named_at_once(rig, plugin, verb) -> None:
    """Who sets up a runtime wants the whole list."""
    names = REQUIRED[verb]
    for value in (None, ""):
        answer = rig.call(plugin, verb, rig.conf(), **dict.fromkeys(names, value))
        assert answer.code == 4
        assert all(name in answer.document["msg"] for name in names)
    for name in names:
        answer = rig.call(plugin, verb, rig.conf(), **{name: None})
        assert answer.code == 4
        assert [n for n in names if n in answer.document["msg"]] == [name]


@pytest.mark.parametrize("name", ["../x", "-a", ".a", "a b", "a/b", "é", "a\n", "\n", "_"])
def test_a_bad_container_id_is_refused(rig, name) -> None:
    """CNI 1.1: letters and digits first, then also '_', '.', '-'."""
    before = rig.host.snapshot(rig.store)
    for verb in ("ADD", "DEL", "CHECK"):
        assert rig.call("bridge", verb, rig.conf(), CNI_CONTAINERID=name).code == 4
    assert before.difference(rig.host.snapshot(rig.store)) == []


@pytest.mark.parametrize(
    "name", ["x" * 16, ".", "..", "a/b", "a:b", "a b", "a\t", "a\u2003", "é" * 8]
)
def test_a_bad_interface_name_is_refused(rig, name) -> None:
    """Linux would not take it."""
    for verb in ("ADD", "DEL", "CHECK"):
        assert rig.call("bridge", verb, rig.conf(), CNI_IFNAME=name).code == 4


def test_an_interface_name_of_fifteen_bytes_is_made(rig) -> None:
    """The longest that Linux takes."""
    rig.add(CNI_IFNAME="x" * 15)
    assert "x" * 15 in rig.host.links(rig.netns)


@pytest.mark.parametrize("plugin", KINDS)
@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b" ",
        b"{",
        b"[]",
        b'"x"',
        b"1",
        b"null",
        b'{"a":1}x',
        b"{}{}",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"a":NaN}',
        b"[" * 10_000,
        b'{"a":' * 10_000,
        b'{"a":"\x01"}',
    ],
)
def test_a_stdin_that_is_no_object_is_a_decoding_error(rig, plugin, stdin) -> None:
    """One error object, no traceback."""
    for verb in ("ADD", "DEL", "CHECK", "GC", "STATUS"):
        answer = rig.call(plugin, verb, stdin)
        assert answer.code == 6
        assert answer.document["cniVersion"] == "1.1.0"
        assert b"Traceback" not in answer.stderr


@pytest.mark.parametrize("name", [None, "", "x y", "../x", 5, "-x", [], "é"])
def test_a_bad_network_name_is_refused(rig, name) -> None:
    """It becomes a directory."""
    conf = rig.conf(name=name)
    if name is None:
        del conf["name"]
    for plugin in KINDS:
        assert rig.call(plugin, "ADD", conf).code == 7
    assert not rig.store.exists()


@pytest.mark.parametrize("version", ["9.9.9", "1.0", "1.1.0-rc1", "v1.0.0", " 1.0.0"])
def test_an_unknown_version_is_refused_with_both_sides_named(rig, version) -> None:
    """Code 1; the error echoes what was asked for."""
    for plugin in KINDS:
        document = rig.call(plugin, "ADD", rig.conf(version)).document
        assert (document["code"], document["cniVersion"]) == (1, version)
        assert version in document["details"]
        assert "0.4.0, 1.0.0, 1.1.0" in document["details"]


@pytest.mark.parametrize("absent", [True, False])
def test_no_version_means_the_oldest(rig, absent) -> None:
    """CNI 1.1: absent is 0.1.0."""
    conf = rig.conf("")
    if absent:
        del conf["cniVersion"]
    assert rig.call("bridge", "ADD", conf).document["cniVersion"] == "0.1.0"
    assert rig.call("bridge", "ADD", conf).document["cniVersion"] == "0.1.0"


def test_a_version_that_is_no_text_is_a_decoding_error(rig) -> None:
    """It cannot be compared."""
    assert rig.call("bridge", "ADD", rig.conf(5)).code == 6


@pytest.mark.parametrize(("verb", "since"), [("CHECK", 4), ("GC", 6), ("STATUS", 6)])
def test_a_verb_needs_the_version_that_brought_it(rig, verb, since) -> None:
    """Code 1 below, a known verb from there on."""
    result = rig.add()
    before = rig.reserved()
    for number, version in enumerate(VERSIONS):
        conf = rig.conf(version, prevResult=result)
        for plugin in ("bridge", "host-local"):
            assert (rig.call(plugin, verb, conf).code == 1) is (number < since)
    assert rig.reserved() == before


@pytest.mark.parametrize("plugin", KINDS)
def test_every_error_echoes_the_version_and_says_something(rig, plugin) -> None:
    """CNI 1.1 "Error"."""
    for env in ({"CNI_IFNAME": "a/b"}, {"CNI_COMMAND": "X"}, {"CNI_CONTAINERID": None}):
        document = rig.call(plugin, "ADD", rig.conf("0.4.0"), **env).document
        assert document["cniVersion"] == "0.4.0"
        assert document["msg"]


def test_unknown_keys_args_and_variables_are_ignored(rig) -> None:
    """Others may know them."""
    conf = rig.conf(x={"y": [None]}, args={"foo": 1, "cni": {"labels": [], "z": 1}})
    env = {"CNI_FOO": "1", "TRACEPARENT": "x", "CNI_ARGS": "IgnoreUnknown=true;A=B"}
    assert rig.call("bridge", "ADD", conf, **env).status == 0


def test_the_order_and_spelling_of_the_configuration_do_not_matter(rig) -> None:
    """The same document is the same request."""
    conf = rig.conf()
    items = list(conf.items())
    random.Random(7).shuffle(items)
    text = json.dumps(dict(items), indent=4).replace('"net"', r'"\u006eet"')
    first = rig.add(conf)
    rig.call("bridge", "DEL", conf)
    (rig.store / "net" / "last_reserved_ip.0").unlink()
    (rig.store / "net" / "last_reserved_ip.1").unlink()
    assert rig.call("bridge", "ADD", text.encode()).document == first


def test_a_large_document_is_read(rig) -> None:
    """Five mebibytes, one member of which counts twice: the last."""
    conf = json.dumps(rig.conf(pad="x" * (5 << 20), name="old"))
    text = conf[:-1] + ', "name": "net"}'
    assert rig.run("bridge", "ADD", text.encode()).status == 0
    assert rig.reserved() != {}


def test_faults_that_take_a_process_are_refused_in_a_function() -> None:
    """A function cannot hang for its caller."""
    for knob in ("hang", "slow-stdin", "close-stdin", "hold-stdout"):
        with pytest.raises(ProcessOnly, match=knob):
            main("recorder", {}, b"", {"faults": [{"do": knob}]})


def test_a_kind_that_is_none_is_refused() -> None:
    """With the list of those there are."""
    with pytest.raises(ValueError, match="interface, hostlocal"):
        main("ptp", {}, b"", {})


def test_a_mistake_of_the_plugin_is_an_error_object_too(rig) -> None:
    """Never a traceback on stdout, never silence."""
    rig.fault("host-local", "store-strict")
    rig.call("host-local", "ADD", rig.conf(), CNI_CONTAINERID="c0")
    (rig.store / "net" / "x").touch()
    answer = rig.call("host-local", "ADD", rig.conf())
    assert answer.code == 999
    assert b"Traceback" in answer.stderr


@pytest.mark.parametrize("plugin", [*KINDS, "rec"])
@pytest.mark.parametrize("verb", ["ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION", "BOGUS"])
def test_a_process_answers_as_a_function_does(rig, plugin, verb) -> None:
    """The same bytes on both streams."""
    conf = {**rig.conf(), "prevResult": rig.add(), "delegate": "bridge"}
    before = {path: path.read_bytes() for path in rig.folder.rglob("*") if path.is_file()}
    one = rig.run(plugin, verb, conf)
    for path in [path for path in rig.folder.rglob("*") if path.is_file()]:
        if path not in before:
            path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
    assert rig.call(plugin, verb, conf) == one


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "cniVersion",
                    "name",
                    "ipam",
                    "ips",
                    "type",
                    "prevResult",
                    "interfaces",
                    "routes",
                    "runtimeConfig",
                    "portMappings",
                    "mac",
                    "dns",
                    "delegate",
                    "cni.dev/attachments",
                    "address",
                    "dst",
                    "ip4",
                    "ip",
                    "interface",
                    "args",
                    "cni",
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_whatever_comes_one_object_or_nothing_goes_out(rig, data) -> None:
    """Any JSON, any environment, any verb: an exit code other than 0 and an error are one thing."""
    kind = data.draw(st.sampled_from(["interface", "hostlocal", "chained", "delegating"]))
    base = {"cniVersion": data.draw(st.sampled_from(VERSIONS)), "name": "net"}
    extra = data.draw(JSON)
    body = {**base, **extra} if isinstance(extra, dict) and data.draw(st.booleans()) else extra
    if isinstance(body, dict):
        body["ipam"] = {"dataDir": str(rig.store), "x": body.get("ipam")}
    verb = data.draw(st.sampled_from(["ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION", "x"]))
    stdin = json.dumps(body).encode()
    status, out, err = main(
        kind, rig.env(verb, CNI_CONTAINERID="c"), stdin, {"kernel": str(rig.host.kernel)}
    )
    assert b"Traceback" not in err, err
    document = json.loads(out) if out else None
    assert document is None or isinstance(document, dict)
    assert (status != 0) == (document is not None and "code" in document)
    if status:
        assert document["code"] in (1, 4, 5, 6, 7, 8, 11, 50) or document["code"] >= 100
        assert document["code"] != 999
        assert document["msg"]
