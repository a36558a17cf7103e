"""Edits go into an OCI config as the specification says, all of them or none."""

from __future__ import annotations

import copy
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cdi.host import HostNode
from refimpl.cdi.inject import CHOICES, InjectError, apply, inject
from refimpl.cdi.model import (
    ContainerEdits,
    Device,
    DeviceNode,
    Hook,
    IntelRdt,
    Mount,
    NetDevice,
    Spec,
)
from refimpl.cdi.registry import Registry, SpecFile, Unresolved

NODES = {
    "/dev/gpu0": HostNode("c", 195, 0, 0o666),
    "/dev/sda": HostNode("b", 8, 0, 0o660),
    "/dev/fifo": HostNode("p", 0, 0, 0o600),
    "/dev/file": HostNode(""),
}
OLD = CHOICES["library-1.1.0"]


def lookup(path: str) -> HostNode:
    """A host with the nodes above."""
    if path not in NODES:
        raise FileNotFoundError(2, "No such file or directory")
    return NODES[path]


def applied(config: dict[str, Any] | None = None, **edits: Any) -> dict[str, Any]:
    """The config with the edits."""
    return apply(ContainerEdits(**edits), config or {}, lookup=lookup)


def device(**fields: Any) -> dict[str, Any]:
    """What a device node becomes in an empty config."""
    result: dict[str, Any] = applied(device_nodes=[DeviceNode(**fields)])["linux"]
    return result


def test_a_variable_is_replaced_where_it_stands_or_added_at_the_end() -> None:
    """CDI-043: of two with its name the last is what a process sees."""
    config = {"process": {"env": ["A=1", "PATH=/bin", "A=2", "odd"]}}
    env = applied(config, env=["A=3", "B=1", "B=2=3"])["process"]["env"]
    assert env == ["A=1", "PATH=/bin", "A=3", "odd", "B=2=3"]


def test_an_older_library_sets_a_variable_of_the_config_twice() -> None:
    """Only among the injected ones it replaces."""
    edits = ContainerEdits(env=["A=3", "A=4"])
    assert apply(edits, {"process": {"env": ["A=1"]}}, choices=OLD)["process"]["env"] == [
        "A=1",
        "A=4",
    ]


def test_a_node_takes_from_the_host_what_it_does_not_say() -> None:
    """Type, numbers and mode; the cgroup allows everything on it unless told otherwise."""
    assert device(path="/dev/gpu0") == {
        "devices": [
            {"path": "/dev/gpu0", "type": "c", "major": 195, "minor": 0, "fileMode": 0o666}
        ],
        "resources": {
            "devices": [{"allow": True, "type": "c", "major": 195, "minor": 0, "access": "rwm"}]
        },
    }


def test_a_node_may_have_another_path_on_the_host() -> None:
    """And values of its own, which stay."""
    result = device(path="/dev/x", host_path="/dev/sda", file_mode=0, uid=0, gid=5, permissions="r")
    assert result["devices"] == [
        {"path": "/dev/x", "type": "b", "major": 8, "minor": 0, "fileMode": 0, "uid": 0, "gid": 5}
    ]
    assert result["resources"]["devices"][0]["access"] == "r"


@pytest.mark.parametrize(
    ("permissions", "access"), [("", "rwm"), ("r", "r"), ("none", ""), ("rr", "rr")]
)
def test_permissions_become_the_access_of_the_cgroup(permissions: str, access: str) -> None:
    """CDI-045."""
    result = device(path="/dev/gpu0", permissions=permissions)
    assert result["resources"]["devices"][0]["access"] == access


@pytest.mark.parametrize("kind", ["p", "u"])
def test_the_cgroup_is_told_of_block_and_character_devices_only(kind: str) -> None:
    """A FIFO has no numbers; the cgroup has no type u."""
    result = device(path="/dev/fifo" if kind == "p" else "/dev/gpu0", type=kind)
    assert result["devices"][0]["type"] == kind
    assert "resources" not in result


def test_a_device_of_the_same_path_is_replaced() -> None:
    """CDI-044: its rule in the cgroup is not known to be its own, so it stays."""
    config = {"linux": {"devices": [{"path": "/dev/gpu0", "type": "c"}, {"path": "/dev/x"}]}}
    nodes = [DeviceNode("/dev/gpu0"), DeviceNode("/dev/gpu0", permissions="r")]
    linux = applied(config, device_nodes=nodes)["linux"]
    assert [entry["path"] for entry in linux["devices"]] == ["/dev/x", "/dev/gpu0"]
    assert [entry["access"] for entry in linux["resources"]["devices"]] == ["rwm", "r"]


@pytest.mark.parametrize(
    "fields",
    [{}, {"type": "c"}, {"type": "u"}, {"major": 5}, {"type": "c", "minor": 3}],
)
def test_a_missing_node_of_the_host_fails_unless_it_is_described(fields: Any) -> None:
    """CDI-046."""
    with pytest.raises(InjectError, match="/dev/none of the host: No such file"):
        device(path="/dev/none", **fields)


@pytest.mark.parametrize("path", ["/dev/none", "/dev/file"])
@pytest.mark.parametrize(("kind", "major"), [("c", 5), ("b", 5), ("p", 0)])
def test_a_described_node_needs_no_node_of_the_host(path: str, kind: str, major: int) -> None:
    """CDI-046: it has no mode then."""
    (result,) = device(path=path, type=kind, major=major)["devices"]
    assert result == {"path": path, "type": kind, "major": major, "minor": 0}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"path": "/dev/sda", "type": "c"}, "is of type c, but /dev/sda of the host of type b"),
        ({"path": "/dev/sda", "type": "u"}, "is of type u, but /dev/sda of the host of type b"),
        ({"path": "/dev/file"}, "/dev/file of the host is no device node"),
    ],
)
def test_a_node_of_another_type_fails(fields: Any, message: str) -> None:
    """CDI-047."""
    with pytest.raises(InjectError, match=message):
        device(**fields)


def test_the_library_does_not_know_what_u_is_on_a_host() -> None:
    """The host shows an unbuffered character device as type c."""
    edits = ContainerEdits(device_nodes=[DeviceNode("/dev/gpu0", type="u")])
    assert apply(edits, {}, lookup=lookup)["linux"]["devices"][0]["major"] == 195
    with pytest.raises(InjectError, match="is of type u"):
        apply(edits, {}, lookup=lookup, choices=CHOICES["practice"])


def test_numbers_are_looked_up_anew_each_time() -> None:
    """CDI-048: a device that was plugged again has others."""
    edits = ContainerEdits(device_nodes=[DeviceNode("/dev/x")])
    majors = [
        apply(edits, {}, lookup=lambda _, n=number: HostNode("c", n, 0))["linux"]["devices"][0]
        for number in (5, 6)
    ]
    assert [entry["major"] for entry in majors] == [5, 6]


@pytest.mark.parametrize(
    ("user", "owner"),
    [({"uid": 0, "gid": 0}, {}), ({"uid": 1000, "gid": 7}, {"uid": 1000, "gid": 7}), ({}, {})],
)
def test_a_node_belongs_to_the_process_unless_that_is_root(user: Any, owner: Any) -> None:
    """CDI-049."""
    config = {"process": {"user": user}}
    (result,) = applied(config, device_nodes=[DeviceNode("/dev/gpu0")])["linux"]["devices"]
    assert {name: result[name] for name in ("uid", "gid") if name in result} == owner
    nodes = [DeviceNode("/dev/gpu0", uid=0, gid=0)]
    (result,) = applied(config, device_nodes=nodes)["linux"]["devices"]
    assert (result["uid"], result["gid"]) == (0, 0)


def test_mounts_replace_their_destination_and_parents_come_first() -> None:
    """CDI-050: otherwise as they were; "/" and "/a" are as deep."""
    old = [{"destination": entry, "source": "old"} for entry in ("/proc", "/a/b", "/a")]
    mounts = [
        Mount("/h1", "/a/b/c/../d"),
        Mount("/h2", "/a/b", type="bind", options=["ro"]),
        Mount("/h3", "/"),
        Mount("/h4", "relative"),
    ]
    result = applied({"mounts": old}, mounts=mounts)["mounts"]
    assert [entry["destination"] for entry in result] == [
        "relative",
        "/proc",
        "/a",
        "/",
        "/a/b",
        "/a/b/c/../d",
    ]
    assert result[4] == {
        "source": "/h2",
        "destination": "/a/b",
        "type": "bind",
        "options": ["ro"],
    }


MAPPED: dict[str, Any] = {
    "linux": {
        "namespaces": [{"type": "pid"}, {"type": "user"}],
        "uidMappings": [{"containerID": 0, "hostID": 1000, "size": 1}],
        "gidMappings": [{"containerID": 0, "hostID": 1000, "size": 1}],
    }
}


@pytest.mark.parametrize(
    ("kind", "options", "after"),
    [
        ("bind", [], ["idmap"]),
        ("", ["bind", "ro"], ["bind", "ro", "idmap"]),
        ("bind", ["rbind"], ["rbind", "ridmap"]),
        ("", ["rbind", "bind"], ["rbind", "bind", "idmap"]),
        ("bind", ["ridmap"], ["ridmap"]),
        ("tmpfs", ["ro"], ["ro"]),
    ],
)
def test_bind_mounts_keep_their_owners_in_a_user_namespace(
    kind: str, options: list[str], after: list[str]
) -> None:
    """CDI-050."""
    mount = Mount("/h", "/c", options, kind)
    assert applied(MAPPED, mounts=[mount])["mounts"][0]["options"] == after
    plain = apply(ContainerEdits(mounts=[mount]), MAPPED, choices=OLD)["mounts"][0]
    assert plain.get("options", []) == options


@pytest.mark.parametrize("missing", ["uidMappings", "gidMappings", "namespaces"])
def test_a_namespace_without_mappings_maps_nothing(missing: str) -> None:
    """Runtimes refuse such mounts."""
    config = copy.deepcopy(MAPPED)
    del config["linux"][missing]
    (mount,) = applied(config, mounts=[Mount("/h", "/c", type="bind")])["mounts"]
    assert "options" not in mount


def test_hooks_come_to_the_end_of_their_stage() -> None:
    """CDI-051."""
    config = {"hooks": {"poststop": [{"path": "/old"}]}}
    hooks = [
        Hook("poststop", "/a", ["a", "-x"], ["A=b"], 3),
        Hook("createRuntime", "/b"),
        Hook("poststop", "/c"),
    ]
    assert applied(config, hooks=hooks)["hooks"] == {
        "poststop": [
            {"path": "/old"},
            {"path": "/a", "args": ["a", "-x"], "env": ["A=b"], "timeout": 3},
            {"path": "/c"},
        ],
        "createRuntime": [{"path": "/b"}],
    }


def test_of_two_classes_of_service_the_last_stays() -> None:
    """CDI-052."""
    first = ContainerEdits(intel_rdt=IntelRdt("gold", schemata=["L3:0=f"]))
    both = first + ContainerEdits(intel_rdt=IntelRdt("tin")) + ContainerEdits(env=["A=b"])
    config = {"linux": {"intelRdt": {"closID": "old", "l3CacheSchema": "x"}}}
    assert apply(both, config)["linux"]["intelRdt"] == {"closID": "tin"}


def test_groups_are_added_once_and_zero_never() -> None:
    """CDI-053."""
    config = {"process": {"user": {"additionalGids": [5]}}}
    result = applied(config, additional_gids=[0, 5, 6, 6])
    assert result["process"]["user"]["additionalGids"] == [5, 6]
    assert applied(additional_gids=[0]) == {}


def test_interfaces_are_known_by_their_name_on_the_host() -> None:
    """Others that the config moves stay."""
    config = {"linux": {"netDevices": {"eth0": {"name": "a"}}}}
    result = applied(config, net_devices=[NetDevice("eth1", "b")])
    assert result["linux"]["netDevices"] == {"eth0": {"name": "a"}, "eth1": {"name": "b"}}


@pytest.mark.parametrize("second", [NetDevice("eth0", "b"), NetDevice("eth1", "a")])
def test_two_devices_cannot_move_one_interface_or_give_one_name(second: NetDevice) -> None:
    """Each file is sound by itself; together they are not. Older libraries let the last win."""
    edits = ContainerEdits(net_devices=[NetDevice("eth0", "a"), second])
    with pytest.raises(InjectError, match="is moved already"):
        apply(edits, {})
    assert second.host_interface_name in apply(edits, {}, choices=OLD)["linux"]["netDevices"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"process": []}, "process of the config is not an object"),
        ({"process": {"env": "A=b"}}, "env of the config is not an array"),
        ([], "the config is no object"),
    ],
)
def test_a_config_that_is_none_is_refused(config: Any, message: str) -> None:
    """With the member that is wrong."""
    with pytest.raises(InjectError, match=message):
        apply(ContainerEdits(env=["A=b"]), config)


def registry() -> Registry:
    """Two devices and edits of the file; the second device cannot be applied."""
    hook = [Hook("poststop", "/h")]
    devices = [
        Device("0", {}, ContainerEdits(env=["A=0"], hooks=hook)),
        Device("bad", {}, ContainerEdits(env=["A=1"], device_nodes=[DeviceNode("/dev/none")])),
    ]
    spec = Spec("1.1.0", "v.com/gpu", {}, devices, ContainerEdits(env=["FILE=1"]))
    return Registry([SpecFile("/a", 0, spec)])


def test_devices_are_injected_by_name() -> None:
    """Twice the same is once, but for the library."""
    names = ["v.com/gpu=0", "v.com/gpu=0"]
    result = inject(registry(), {"hostname": "h"}, names)
    assert result == {
        "hostname": "h",
        "process": {"env": ["FILE=1", "A=0"]},
        "hooks": {"poststop": [{"path": "/h"}]},
    }
    doubled = inject(registry(), {}, names, choices=CHOICES["practice"])
    assert len(doubled["hooks"]["poststop"]) == 2


@pytest.mark.parametrize(
    ("name", "error"), [("v.com/gpu=bad", InjectError), ("v.com/gpu=9", Unresolved)]
)
def test_a_failure_leaves_the_config_as_it_was(name: str, error: type[Exception]) -> None:
    """CDI-040, CDI-055: the library leaves it half edited."""
    config = {"process": {"env": ["X=y"]}}
    original = copy.deepcopy(config)
    with pytest.raises(error):
        inject(registry(), config, ["v.com/gpu=0", name], lookup=lookup)
    assert config == original


_NODES = st.builds(
    DeviceNode,
    st.sampled_from(["/dev/a", "/dev/b"]),
    st.sampled_from(["/dev/gpu0", "/dev/sda", "/dev/fifo"]),
)
_EDITS = st.builds(
    ContainerEdits,
    env=st.lists(st.sampled_from(["A=1", "A=2", "B=1"])),
    device_nodes=st.lists(_NODES, max_size=3),
    mounts=st.lists(
        st.builds(Mount, st.just("/h"), st.sampled_from(["/", "/a", "/a/b", "/c"])), max_size=3
    ),
    additional_gids=st.lists(st.integers(0, 3), max_size=3),
    intel_rdt=st.none() | st.just(IntelRdt("x")),
    hooks=st.lists(st.just(Hook("poststop", "/h")), max_size=2),
)


@given(_EDITS)
def test_the_same_edits_again_change_only_hooks_and_rules(edits: ContainerEdits) -> None:
    """CDI-060; the given config is never touched."""
    once = apply(edits, {}, lookup=lookup)
    original = copy.deepcopy(once)
    twice = apply(edits, once, lookup=lookup)
    assert once == original
    hooks = [{"path": "/h"}] * len(edits.hooks)
    assert twice.pop("hooks", {}).get("poststop", []) == hooks * 2
    assert once.pop("hooks", {}).get("poststop", []) == hooks
    rules = [
        result.get("linux", {}).pop("resources", {}).get("devices", []) for result in (once, twice)
    ]
    assert rules[1] == rules[0] * 2
    for result in (once, twice):
        result["mounts"] = sorted(map(str, result.get("mounts", [])))
    assert once == twice


def test_choices_are_plain_data() -> None:
    """So that a fake runtime can make its own."""
    assert attrs.evolve(CHOICES["strict"], unique_devices=False) != CHOICES["strict"]
    assert set(CHOICES) == {"strict", "practice", "library-1.1.0"}
