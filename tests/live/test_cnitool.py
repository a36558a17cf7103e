"""cnitool and our `libcni` profile cannot be told apart, by plugins or by the files they keep.

Everything runs in namespaces of its own, where /var/lib/cni, which cnitool insists on, is empty.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.cni.generate import documents, json_values, near_results
from refimpl.cni import config, plugins
from refimpl.cni.contract import VERSIONS
from refimpl.cni.host import sandbox
from refimpl.cni.host.kernel import Kernel
from refimpl.cni.runtime import Runtime
from refimpl.cni.runtime.cache import DEFAULT
from refimpl.documents import json as exact
from tests.live.rigs.cni_sides import RECORDER, Side, kept

VERBS = ("status", "add", "check", "del", "add", "gc")
SETTINGS = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def inside() -> Iterator[Kernel]:
    """A machine of our own for the length of a test."""
    reason = sandbox.why_not()
    if reason:
        pytest.skip(reason)
    with sandbox.enter():
        kernel = Kernel()
        yield kernel
        kernel.close()


@pytest.fixture
def side(inside: Kernel, cnitool: Path, tmp_path: Path) -> Side:
    """Recorders called one and two, and a namespace."""
    for name in ("bin", "log", "answers", "net"):
        (tmp_path / name).mkdir()
    for name in ("one", "two"):
        (tmp_path / "bin" / name).write_text(RECORDER)
        (tmp_path / "bin" / name).chmod(0o755)
    env = {
        "PATH": "/usr/bin:/bin",
        "PWD": "/",
        "NETCONFPATH": str(tmp_path / "net"),
        "CNI_PATH": str(tmp_path / "bin"),
    }
    return Side(tmp_path, cnitool, inside.make_netns(), env)


def same(side: Side, value: Any, verbs: tuple[str, ...] = VERBS, file: str = "a.conflist") -> None:
    """Plays the verbs with both; all that plugins and files show has to be the same."""
    (side.base / "net" / file).write_bytes(exact.dump(value))
    shutil.rmtree(DEFAULT, ignore_errors=True)
    theirs = []
    for verb in verbs:
        went_well, said = side.tool(verb, value["name"])
        theirs.append((went_well, side.recorded(), kept(), said))
    shutil.rmtree(DEFAULT, ignore_errors=True)
    for verb, (went_well, execs, files, said) in zip(verbs, theirs, strict=True):
        found, error = side.ours(verb, file)
        assert side.recorded() == execs, verb
        assert found == went_well, f"{verb}: cnitool said {said!r}, we {error!r}"
        assert kept() == files, verb


def answer(side: Side, plugin: str, verb: str, value: Any, status: int = 0) -> None:
    """Sets what a recorder prints, a JSON value or bytes, and how it ends."""
    data = value if isinstance(value, bytes) else exact.dump(value)
    (side.base / "answers" / f"{plugin}.{verb}").write_bytes(data)
    (side.base / "answers" / f"{plugin}.{verb}.status").write_text(str(status))


def chain(version: str = "1.1.0", **members: Any) -> dict[str, Any]:
    """A list of both recorders; members go to the first."""
    plugins = [{"type": "one", **members}, {"type": "two"}]
    return {"cniVersion": version, "name": "net", "plugins": plugins}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_life_is_the_same_in_every_version(side: Side, version: str) -> None:
    """Order, environment, documents to the byte, kept files."""
    old = {"ip4": {"ip": "10.1.0.2/24", "routes": [{"dst": "0.0.0.0/0"}]}}
    ips = [{"version": "4", "address": "10.1.0.2/24", "interface": 0}]
    new = {"interfaces": [{"name": "eth0", "mtu": 1500, "x": 1}], "ips": ips}
    result = {"cniVersion": version, **(old if version < "0.3" else new)}
    answer(side, "one", "ADD", result)
    answer(side, "two", "ADD", {**result, "dns": {"search": ["<a>"]}, "unknown": 1})
    same(side, chain(version))


def test_capabilities_and_arguments_are_the_same(side: Side) -> None:
    """Declared ones reach the plugin, declared false ones do not; arguments keep their order."""
    side.env |= {
        "CNI_ARGS": "B=2;A=1",
        "CAP_ARGS": '{"mac": "x", "bandwidth": {"b": 1, "a": 1e30}, "ips": [], "dns": {}}',
    }
    asked = {"mac": True, "bandwidth": True, "ips": False, "aliases": True}
    for version in ("0.4.0", "1.1.0"):
        answer(side, "one", "ADD", {"cniVersion": version, "dns": {}})
        answer(side, "two", "ADD", {"cniVersion": version})
        value = chain(version)
        value["plugins"][1]["capabilities"] = asked
        same(side, value)


def test_a_single_plugin_is_the_same(side: Side) -> None:
    """The list that libcni wraps around it is what is kept."""
    answer(side, "one", "ADD", {"cniVersion": "0.4.0"})
    single = {"cniVersion": "0.4.0", "name": "net", "type": "one", "n": 1.0, "t": "<"}
    same(side, single, file="a.conf")
    answer(side, "one", "ADD", {})
    same(side, {"name": "net", "type": "one"}, file="a.conf")


def test_versions_to_choose_from_are_the_same(side: Side) -> None:
    """The highest of both members that libcni knows; a lone future one is sent."""
    answer(side, "one", "ADD", {})
    answer(side, "two", "ADD", {})
    for version, versions in (
        ("0.4.0", ["1.1.0", "9.0.0", "1.0.0"]),
        ("9.0.0", ["0.4.0"]),
        ("9.0.0", ["9.1.0"]),
        ("9.0.0", None),
        (None, ["0.3.1"]),
        (None, None),
    ):
        value = chain()
        value |= {"cniVersion": version, "cniVersions": versions}
        same(side, {key: item for key, item in value.items() if item is not None})


def test_flags_and_the_sub_directory_are_the_same(side: Side) -> None:
    """disableCheck, disableGC; plugins of the folder come after those of the list."""
    folder = side.base / "net" / "net"
    folder.mkdir()
    (folder / "10.conf").write_text('{"type": "two", "more": 1}')
    (folder / "20.json").write_text('{"type": "never"}')
    for name in ("one", "two"):
        answer(side, name, "ADD", {})
    same(side, {**chain(), "disableCheck": True, "disableGC": True})
    same(side, {**chain(), "loadOnlyInlinedPlugins": True})


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (b"", 0),
        (b"null", 0),
        (b"{}", 0),
        (b"[]", 0),
        (b"{}{}", 0),
        (b"log\n{}", 0),
        (b'{"cniVersion": "1.1.0", "ips": [{"address": "\xff"}]}', 0),
        (b'{"cniVersion": "1.1.0", "\xff": 1}', 0),
        (b'\xef\xbb\xbf{"cniVersion": "1.1.0"}', 0),
        (b'{"cniVersion": "1.1.0", "code": 7, "msg": "no"}', 0),
        (b'{"cniVersion": "1.1.0", "code": 7, "msg": "no"}', 1),
        (b'{"cniVersion": "1.1.0"}', 1),
        (b"", 137),
        (b'{"cniVersion": "0.4.0", "ips": [{"version": "4", "address": "10.1.0.2/24"}]}', 0),
        (b'{"cniVersion": "9.0.0"}', 0),
        (b'{"cniVersion": "", "ip4": {"ip": "10.1.0.2/24"}}', 0),
        (b'{"cniVersion": 1}', 0),
        (b'{"CNIVERSION": "0.4.0", "IPS": [{"Address": "10.1.0.2/24"}]}', 0),
        (b'{"ips": [{"address": "10.1.0.2/24", "interface": 7}], "interfaces": null}', 0),
        (b'{"ips": [{"address": "10.1.0.2/24", "interface": "1"}]}', 0),
        (b'{"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24", "interface": 1.0}]}', 0),
        (b'{"ips": [{"address": "10.1.0.2/24", "interface": 1.0}]}', 0),
        (b'{"ips": [{"address": "::ffff:10.1.0.2/120", "gateway": "2001:DB8::0:1"}]}', 0),
        (b'{"ips": [{"address": "10.1.0.2"}]}', 0),
        (b'{"ips": [null, {"address": "10.1.0.2/24"}], "routes": [{"dst": "10.0.0.1/8"}]}', 0),
    ],
)
def test_an_odd_answer_is_taken_in_the_same_way(side: Side, value: bytes, status: int) -> None:
    """What libcni makes of it shows in the next request and in the kept file."""
    answer(side, "one", "ADD", value, status)
    answer(side, "two", "ADD", value, status)
    same(side, chain())


@pytest.mark.parametrize("verb", ["ADD", "DEL", "CHECK", "STATUS", "GC"])
def test_a_failing_plugin_ends_the_chain_in_the_same_way(side: Side, verb: str) -> None:
    """No DEL after a failed ADD, halts, and what is kept after it."""
    for name in ("one", "two"):
        answer(side, name, "ADD", {"cniVersion": "1.1.0"})
    answer(side, "two", verb, {"code": 100, "msg": "no", "details": "more"}, 1)
    same(side, chain(), ("status", "add", "check", "del", "gc", "del"))


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"kind":"cniCacheV1"}', b'{"cniVersion":"0.4.0"}']
)
def test_a_broken_kept_file_is_taken_in_the_same_way(side: Side, content: bytes) -> None:
    """CHECK fails or goes without, DEL goes on."""
    (side.base / "net" / "a.conflist").write_bytes(exact.dump(chain()))
    seen = []
    for act, network in ((side.tool, "net"), (side.ours, "a.conflist")):
        for verb in ("check", "del"):
            place = DEFAULT / "results" / f"net-{side.attachment.container_id}-eth0"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            went_well, _ = act(verb, network)
            seen.append((verb, went_well, side.recorded(), kept()))
    assert seen[:2] == seen[2:]


@SETTINGS
@given(members=st.dictionaries(st.text(max_size=5), json_values(), max_size=4))
def test_any_member_of_a_plugin_arrives_in_the_same_text(side: Side, members: Any) -> None:
    """Numbers, escapes, order, whatever the value."""
    answer(side, "one", "ADD", {"cniVersion": "1.1.0"})
    answer(side, "two", "ADD", {"cniVersion": "1.1.0"})
    taken = {"type", "capabilities", "ipam", "dns", "cni.dev/valid-attachments", "prevresult"}
    free = {
        key: item
        for key, item in members.items()
        if key.casefold() not in taken | {"name", "cniversion", "prevresult"}
    }
    same(side, chain() | {"plugins": [{"type": "one", **free}]}, ("add", "del"))


@SETTINGS
@given(value=st.one_of(near_results(), *map(documents, VERSIONS)))
def test_any_result_is_read_in_the_same_way(side: Side, value: Any) -> None:
    """Refused or not, and what is left of it."""
    answer(side, "one", "ADD", value)
    answer(side, "two", "ADD", {"cniVersion": "1.1.0"})
    same(side, chain(), ("add", "del"))


def listed(*plugins: dict[str, Any]) -> dict[str, Any]:
    """A network of real plugins."""
    return {"cniVersion": "1.1.0", "name": "net", "plugins": list(plugins)}


def host_local(tmp_path: Path) -> dict[str, Any]:
    """Addresses from a folder of the test."""
    return {"type": "host-local", "subnet": "10.88.0.0/24", "dataDir": str(tmp_path / "ipam")}


REAL: dict[str, Callable[[Path], dict[str, Any]]] = {
    "bridge": lambda path: listed(
        {"type": "bridge", "bridge": "cni9", "isGateway": True, "ipam": host_local(path)}
    ),
    "ptp": lambda path: listed({"type": "ptp", "mtu": 1400, "ipam": host_local(path)}),
    "loopback": lambda _path: listed({"type": "loopback"}),
    "chained": lambda path: listed(
        {"type": "bridge", "bridge": "cni9", "ipam": host_local(path)},
        {"type": "tuning", "mtu": 1300, "capabilities": {"mac": True}},
    ),
}


def plain(text: str) -> Any:
    """A result without the names and hardware addresses that are drawn anew each time."""
    text = re.sub(r'"veth[0-9a-f]+"', '"veth"', text)
    return json.loads(re.sub(r'"([0-9a-f]{2}:){5}[0-9a-f]{2}"', '"mac"', text))


@pytest.mark.parametrize("network", REAL)
def test_real_plugins_give_both_the_same_and_each_deletes_for_the_other(
    side: Side, inside: Kernel, cni_plugins: Path, network: str
) -> None:
    """ADD by one, CHECK and DEL by the other, from the kept file alone; nothing is left."""
    side.env["CNI_PATH"] = str(cni_plugins)
    value = REAL[network](side.base)
    (side.base / "net" / "a.conflist").write_bytes(exact.dump(value))
    ipam = side.base / "ipam"

    def clean() -> None:
        shutil.rmtree(ipam, ignore_errors=True)

    def tool(verb: str) -> str:
        went_well, said = side.tool(verb, "net")
        assert went_well, said
        return said

    def ours(verb: str) -> None:
        went_well, said = side.ours(verb, "a.conflist")
        assert went_well, said

    tool("status")
    ours("status")
    # The bridge stays when its last port goes; it is there before the first look.
    tool("add")
    tool("del")
    clean()
    before = inside.snapshot()
    results = []
    for add, rest in ((tool, ours), (ours, tool)):
        add("add")
        (place,) = (DEFAULT / "results").iterdir()
        results.append(plain(json.dumps(json.loads(place.read_text())["result"])))
        add("check")
        rest("check")
        rest("del")
        assert before.difference(inside.snapshot()) == []
        assert not kept()
        clean()
    assert results[0] == results[1]
    assert plain(tool("add")) == results[0]
    ours("del")


def test_cnitool_collects_what_we_added_and_we_what_it_added(side: Side, cni_plugins: Path) -> None:
    """GC finds attachments in the kept files, whoever wrote them; strict's, too."""
    side.env["CNI_PATH"] = str(cni_plugins)
    value = REAL["bridge"](side.base)
    (side.base / "net" / "a.conflist").write_bytes(exact.dump(value))
    strict = Runtime([cni_plugins], DEFAULT, environ={"PATH": os.environ["PATH"]})
    network = config.load(side.base / "net" / "a.conflist")
    strict.add(network, side.attachment)
    assert side.tool("gc", "net") == (True, "")
    assert not kept()
    assert side.tool("add", "net")[0]
    strict.gc(network, [])
    assert not kept()
    assert not list((side.base / "ipam" / "net").glob("10.*"))


def test_cnitool_runs_our_fake_plugins_and_reads_what_we_keep(side: Side) -> None:
    """Fakes count when a program that is not ours is content with them: a whole life, each half
    of it driven by the other side.
    """
    fakes = side.base / "fakes"
    fakes.mkdir()
    kinds = {"fake-bridge": "interface", "fake-host-local": "hostlocal", "fake-portmap": "chained"}
    for name, kind in kinds.items():
        plugins.install(fakes, name, kind, lenient=True)
    side.env["CNI_PATH"] = str(fakes)
    side.env["CAP_ARGS"] = json.dumps(
        {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}
    )
    ipam = {**host_local(side.base), "type": "fake-host-local"}
    value = listed(
        {"type": "fake-bridge", "bridge": "fake0", "ipam": ipam},
        {"type": "fake-portmap", "capabilities": {"portMappings": True}},
    )
    (side.base / "net" / "a.conflist").write_bytes(exact.dump(value))
    tool = functools.partial(_well, lambda verb: side.tool(verb, "net"))
    ours = functools.partial(_well, lambda verb: side.ours(verb, "a.conflist"))
    results = []
    for add, rest in ((tool, ours), (ours, tool)):
        add("status")
        add("add")
        (place,) = (DEFAULT / "results").iterdir()
        results.append(json.loads(place.read_text())["result"])
        for act in (add, rest):
            act("check")
        rest("del")
        assert not kept()
        rest("del")  # a repeat is fine with them
        state = json.loads((fakes / "kernel.json").read_text())["namespaces"]
        assert not [name for space in state.values() for name in space["links"] if name != "lo"]
        assert not list((side.base / "ipam" / "net").glob("10.*"))
    assert [len(result["ips"]) for result in results] == [1, 1]
    assert plain(json.dumps(results[0])).keys() == plain(json.dumps(results[1])).keys()


def _well(act: Callable[[str], tuple[bool, str]], verb: str) -> None:
    went_well, said = act(verb)
    assert went_well, f"{verb}: {said}"
