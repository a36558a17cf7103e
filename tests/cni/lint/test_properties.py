"""Properties: sound lists are clean, every mutation is found, nothing makes lint raise."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refimpl.cni.lint import Severity, lint, lint_bytes
from refimpl.documents import json as documents

PORTMAP = {"type": "portmap", "capabilities": {"portMappings": True}}


def grave(findings: Any) -> list[str]:
    """Errors and warnings as text."""
    return [str(finding) for finding in findings if finding.severity is not Severity.INFO]


NAMES = st.from_regex(r"[a-z0-9][A-Za-z0-9_.\-]{0,20}", fullmatch=True)
SUBNETS = st.integers(0, 255).map(lambda part: f"10.{part}.0.0/16")


@st.composite
def sound_lists(draw: st.DrawFn) -> dict[str, Any]:
    """A list without any fault: an interface with addresses, then chained plugins."""
    subnets = draw(st.lists(SUBNETS, min_size=1, max_size=3, unique=True))
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": subnet}] for subnet in subnets],
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.0.0.1"}],
    }
    first = {
        "type": draw(st.sampled_from(["bridge", "ptp", "acme-net"])),
        "ipMasq": draw(st.booleans()),
        "ipam": ipam,
        "dns": {"nameservers": ["10.0.0.10", "fd00::a"], "search": ["example.org"]},
    }
    chained = [
        PORTMAP,
        {"type": "bandwidth", "capabilities": {"bandwidth": True}},
        {"type": "firewall"},
        {"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}},
        {"type": "acme-chained", "capabilities": {"mac": draw(st.booleans())}, "x": {"y": [None]}},
    ]
    return {
        "name": draw(NAMES),
        "cniVersion": draw(st.sampled_from(["0.4.0", "1.0.0", "1.1.0"])),
        **draw(st.sampled_from([{}, {"disableCheck": True}, {"disableGC": False}])),
        "plugins": [first, *draw(st.lists(st.sampled_from(chained), max_size=3))],
    }


def dump(value: Any) -> bytes:
    """The document, spread over lines as people write it."""
    return json.dumps(value, indent=2).encode()


@given(network=sound_lists())
def test_a_sound_list_is_clean(network: dict[str, Any]) -> None:
    """CNI-CFG-040, first half."""
    assert grave(lint_bytes(dump(network)).findings) == []


Mutation = Callable[[dict[str, Any]], Any]


def _set(*path: Any) -> Mutation:
    """Sets the member at all but the last part of the path to the last part."""

    def mutate(network: dict[str, Any]) -> None:
        *way, key, value = path
        target: Any = network
        for step in way:
            target = target[step]
        target[key] = value

    return mutate


def _drop(*path: Any) -> Mutation:
    """Removes the member at the path."""

    def mutate(network: dict[str, Any]) -> None:
        target: Any = network
        for step in path[:-1]:
            target = target[step]
        del target[path[-1]]

    return mutate


def _also(*changes: Mutation) -> Mutation:
    """Several changes that are one fault together."""
    return lambda network: [change(network) for change in changes]


def _append(*path: Any) -> Mutation:
    """Appends the last part of the path to the list at the rest of it."""

    def mutate(network: dict[str, Any]) -> None:
        *way, value = path
        target: Any = network
        for step in way:
            target = target[step]
        target.append(value)

    return mutate


def _repeat_the_range(network: dict[str, Any]) -> None:
    ranges = network["plugins"][0]["ipam"]["ranges"]
    ranges.append(copy.deepcopy(ranges[0]))


def _chained_first(network: dict[str, Any]) -> None:
    network["plugins"].insert(0, dict(PORTMAP))


FIRST = ("plugins", 0)
IPAM = (*FIRST, "ipam")
ROUTE = (*IPAM, "routes", 0)
RANGE = (*IPAM, "ranges", 0, 0)
NAME_OF_175 = "a" * 175

# (row, severity, one change to a sound list)
MUTATIONS: list[tuple[str, str, Mutation]] = [
    ("CNI-CFG-002", "error", _drop("name")),
    ("CNI-CFG-002", "error", _set("name", "")),
    ("CNI-CFG-002", "error", _set("name", 5)),
    ("CNI-CFG-002", "error", _set("name", "a b")),
    ("CNI-CFG-002", "error", _set("name", "-a")),
    ("CNI-CFG-002", "error", _set("name", "..")),
    ("CNI-CFG-002", "error", _set("name", "a/b")),
    ("CNI-CFG-003", "warning", _set("name", NAME_OF_175)),
    ("CNI-CFG-005", "warning", _drop("cniVersion")),
    ("CNI-CFG-006", "error", _set("cniVersion", 1)),
    ("CNI-CFG-006", "error", _set("cniVersion", "1.0")),
    ("CNI-CFG-006", "error", _set("cniVersion", "v1.0.0")),
    ("CNI-CFG-006", "error", _set("cniVersion", "1.1.0-rc1")),
    ("CNI-CFG-006", "error", _set("cniVersion", "9.9.9")),
    ("CNI-CFG-007", "error", _set("cniVersions", "1.1.0")),
    ("CNI-CFG-007", "error", _set("cniVersions", ["1.1"])),
    ("CNI-CFG-007", "error", _set("cniVersions", [1])),
    ("CNI-CFG-007", "warning", _set("cniVersions", [])),
    ("CNI-CFG-007", "warning", _set("cniVersions", ["0.3.1"])),
    ("CNI-CFG-009", "warning", _set("disableCheck", "true")),
    ("CNI-CFG-009", "warning", _set("disableGC", "False")),
    ("CNI-CFG-009", "error", _set("loadOnlyInlinedPlugins", 1)),
    ("CNI-CFG-010", "error", _set(*FIRST, "disableCheck", True)),
    ("CNI-CFG-011", "error", _drop("plugins")),
    ("CNI-CFG-011", "error", _set("plugins", [])),
    ("CNI-CFG-011", "error", _set("plugins", {})),
    ("CNI-CFG-011", "error", _set(*FIRST, "bridge")),
    ("CNI-CFG-015", "error", _drop(*FIRST, "type")),
    ("CNI-CFG-015", "error", _set(*FIRST, "type", "")),
    ("CNI-CFG-015", "error", _set(*FIRST, "type", "/opt/cni/bin/bridge")),
    ("CNI-CFG-015", "error", _set(*FIRST, "type", "my bridge")),
    ("CNI-CFG-018", "error", _set(*FIRST, "runtimeConfig", {})),
    ("CNI-CFG-018", "error", _set(*FIRST, "args", {})),
    ("CNI-CFG-018", "error", _set(*FIRST, "prevResult", {})),
    ("CNI-CFG-018", "error", _set(*FIRST, "cni.dev/foo", 1)),
    ("CNI-CFG-019", "error", _set(*FIRST, "capabilities", ["mac"])),
    ("CNI-CFG-019", "error", _set(*FIRST, "capabilities", {"mac": "true"})),
    ("CNI-CFG-019", "warning", _set(*FIRST, "capabilities", {"portMapping": True})),
    ("CNI-CFG-019", "warning", _set(*IPAM, "capabilities", {"ips": True})),
    ("CNI-CFG-021", "warning", _set(*FIRST, "name", "another")),
    ("CNI-CFG-021", "warning", _set(*FIRST, "cniVersion", "0.1.0")),
    ("CNI-CFG-022", "error", _set(*FIRST, "ipam", "host-local")),
    ("CNI-CFG-022", "error", _also(_set(*FIRST, "type", "ptp"), _drop(*IPAM, "type"))),
    ("CNI-CFG-022", "warning", _also(_set(*FIRST, "type", "acme-net"), _drop(*IPAM, "type"))),
    ("CNI-CFG-022", "error", _set(*IPAM, "type", "../host-local")),
    ("CNI-CFG-023", "error", _set(*RANGE, "subnet", "10.0.0.0")),
    ("CNI-CFG-023", "error", _set(*RANGE, "subnet", "10.0.0.300/24")),
    ("CNI-CFG-023", "error", _set(*RANGE, "subnet", "10.0.0.1/24")),
    ("CNI-CFG-023", "error", _set(*RANGE, "subnet", "10.0.0.0/31")),
    ("CNI-CFG-023", "error", _set(*RANGE, "subnet", "fd00::/127")),
    ("CNI-CFG-023", "error", _set(*RANGE, "rangeStart", "11.0.0.1")),
    ("CNI-CFG-023", "error", _set(*RANGE, "gateway", "11.0.0.1")),
    ("CNI-CFG-023", "error", _set(*RANGE, "rangeEnd", "nonsense")),
    ("CNI-CFG-023", "error", _set(*IPAM, "ranges", [{"subnet": "10.0.0.0/24"}])),
    ("CNI-CFG-025", "error", _set(*ROUTE, "dst", "0.0.0.0")),
    ("CNI-CFG-025", "error", _set(*ROUTE, "gw", "10.0.0.1/16")),
    ("CNI-CFG-025", "error", _set(*ROUTE, "gw", "fd00::1")),
    ("CNI-CFG-027", "error", _set(*FIRST, "dns", "nameservers", ["dns.example.org"])),
    ("CNI-CFG-027", "error", _set(*FIRST, "dns", "search", "example.org")),
    ("CNI-CFG-028", "error", _set(*FIRST, "ipMasq", "yes")),
    ("CNI-CFG-036", "warning", _set(*FIRST, "x", 9007199254740993)),
    ("CNI-CFG-036", "warning", _set(*FIRST, "x", 1.0)),
    ("CNI-CFG-037", "warning", _set("CniVersion", "1.0.0")),
    ("CNI-CFG-037", "warning", _set(*RANGE, "rangestart", "10.0.0.9")),
    ("CNI-CFG-012", "error", _also(_drop("plugins"), _set("loadOnlyInlinedPlugins", True))),
    (
        "CNI-CFG-017",
        "error",
        _also(_set("cniVersion", "0.3.1"), _append("plugins", {"type": "firewall"})),
    ),
    ("CNI-CFG-020", "warning", _append("plugins", {"type": "portmap"})),
    ("CNI-CFG-023", "error", _repeat_the_range),
    (
        "CNI-CFG-024",
        "error",
        _also(_set("cniVersion", "0.2.0"), _append(*IPAM, "ranges", [{"subnet": "11.0.0.0/16"}])),
    ),
    ("CNI-CFG-025", "warning", _append(*IPAM, "routes", {"dst": "0.0.0.0/0"})),
    ("CNI-CFG-026", "warning", _also(_set("cniVersion", "1.0.0"), _set(*ROUTE, "mtu", 1400))),
    ("CNI-CFG-029", "error", _chained_first),
    ("CNI-CFG-030", "warning", _set("plugins", [{"type": "bridge"}, {"type": "macvlan"}])),
    (
        "CNI-CFG-031",
        "warning",
        _also(_set("disableCheck", False), _append("plugins", {"type": "sbr"})),
    ),
    ("CNI-CFG-008", "warning", _also(_set("cniVersion", "0.4.0"), _set("cniVersions", ["0.4.0"]))),
]


@pytest.mark.parametrize(
    ("row", "severity", "mutate"),
    MUTATIONS,
    ids=[f"{row}-{index}" for index, (row, _, _) in enumerate(MUTATIONS)],
)
@settings(max_examples=8)
@given(network=sound_lists())
def test_each_single_mutation_yields_its_finding(
    row: str, severity: str, mutate: Mutation, network: dict[str, Any]
) -> None:
    """CNI-CFG-040, second half: no rule is blind to what it is for."""
    changed = copy.deepcopy(network)
    mutate(changed)
    findings = lint_bytes(dump(changed)).findings
    assert (row, severity) in [(finding.id, str(finding.severity)) for finding in findings]


DOCUMENT_KEYS = st.sampled_from(
    [
        *("name", "cniVersion", "cniVersions", "plugins", "type", "ipam", "dns", "capabilities"),
        *("ranges", "subnet", "rangeStart", "rangeEnd", "gateway", "routes", "dst", "gw", "mtu"),
        *("nameservers", "search", "domain", "disableCheck", "loadOnlyInlinedPlugins", "ipMasq"),
        *("runtimeConfig", "portMappings", "prevResult", "dataDir", "NAME", "hostport"),
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=6),
    st.sampled_from(
        ["1.0.0", "0.2.0", "bridge", "host-local", "sbr", "10.1.0.0/16", "fd00::/64", "::1%x", ""]
    ),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(DOCUMENT_KEYS | st.text(), inner, max_size=6)
    ),
    max_leaves=40,
)


@given(tree=TREES, name=st.sampled_from(["a.conf", "a.conflist", "a.json", ".conf", "a"]))
def test_no_document_makes_lint_raise(tree: Any, name: str) -> None:
    """A check that dies on the broken file is no use for broken files."""
    try:
        data = documents.dump(tree)
    except ValueError:
        data = json.dumps(tree).encode()
    for finding in lint_bytes(data, name=name).findings:
        assert re.fullmatch(r"CNI-CFG-0[0-3]\d", finding.id)
        assert finding.line >= 1
        assert finding.column >= 1
        assert finding.message.isprintable()
        assert finding.fix
        assert finding.rule


@given(network=sound_lists(), path=st.lists(st.integers(0, 9), max_size=6), leaf=TREES)
def test_no_replaced_member_makes_lint_raise(
    network: dict[str, Any], path: list[int], leaf: Any
) -> None:
    """Wrong types deep inside of an otherwise sound list."""
    target: Any = network
    for step in path:
        inner = list(target.values()) if isinstance(target, dict) else target
        chosen = inner[step % len(inner)] if inner else None
        if not isinstance(chosen, dict | list):
            break
        target = chosen
    key = next(iter(target)) if isinstance(target, dict) and target else 0
    if target:
        target[key] = leaf
    report = lint_bytes(json.dumps(network).encode())
    assert json.loads(json.dumps(report.to_dict()))["counts"]["error"] >= 0


@given(data=st.binary(max_size=200))
def test_no_bytes_make_lint_raise(data: bytes) -> None:
    """Neither do bytes that are no document: they are a finding."""
    report = lint_bytes(data)
    assert report.failed or json.loads(data)


def test_deep_and_large_documents_are_findings() -> None:
    """Hostile input ends in a line, not in a traceback."""
    for data in (b"[" * 100_000, b'{"plugins":' * 999 + b"1" + b"}" * 999, b"9" * 10_000):
        assert lint_bytes(data).failed


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(
        st.sampled_from(["10.conflist", "20.conf", "30.json", "x.bak", "n/a.conf", "n/b", "n/c/d"]),
        TREES | st.binary(max_size=20) | sound_lists().map(lambda one: {**one, "name": "n"}),
        max_size=5,
    )
)
def test_no_folder_makes_lint_raise(tmp_path_factory: pytest.TempPathFactory, files: Any) -> None:
    """Any mix of files, with the choices of the runtimes."""
    root = tmp_path_factory.mktemp("net.d")
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    report = lint([root])
    json.dumps(report.to_dict())
    assert len(report.checked[0].choices) == 4


def places(value: Any, pointer: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every member of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*pointer, key)
        if isinstance(item, dict | list):
            yield from places(item, (*pointer, key))


@settings(max_examples=5)
@given(network=sound_lists())
def test_depth_in_any_place_is_no_danger(network: dict[str, Any]) -> None:
    """Comparing or printing such a value would exhaust Python's stack."""
    network["plugins"][0].update(name=network["name"], cniVersion=network["cniVersion"])
    mark, deep = "DEEP", b"[" * 900 + b"]" * 900
    for place in places(network):
        changed = copy.deepcopy(network)
        _set(*place, mark)(changed)
        if place[0] in ("name", "cniVersion"):
            _set(*FIRST, place[0], mark)(changed)
        data = json.dumps(changed).encode().replace(b'"DEEP"', deep)
        for name in ("a.conflist", "a.conf"):
            assert lint_bytes(data, name=name).checked
