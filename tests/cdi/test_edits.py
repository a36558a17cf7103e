"""Each kind of edit has rules of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from refimpl.cdi.rules import POLICIES
from refimpl.cdi.validate import judge

Document = Callable[..., dict[str, Any]]  # see conftest.py
Levels = Callable[[str, Any], dict[str, tuple[str, ...]]]

BOTH = ("error", "error")
TEXT = ("error", "warning")


@pytest.fixture
def levels(document: Document) -> Levels:
    """`levels("env", [...])`: rule to (level under strict, level under practice), for a device."""

    def judged(name: str, value: Any) -> dict[str, tuple[str, ...]]:
        text = json.dumps(document(devices={"gpu": {"env": ["A=b"]} | {name: value}})).encode()
        by_policy = [
            {finding.rule: finding.level for finding in judge(text, policy=policy).findings}
            for policy in POLICIES
        ]
        return {
            rule: tuple(level_of.get(rule, "") for level_of in by_policy)
            for rule in by_policy[0] | by_policy[1]
        }

    return judged


@pytest.mark.parametrize(
    ("variable", "sound"),
    [("", False), ("=x", False), ("A", False), ("A=", True), ("A=b=c", True), (" =b", True)],
)
def test_a_variable_has_a_name_and_a_value(levels: Levels, variable: str, sound: bool) -> None:
    """CDI-015."""
    assert levels("env", [variable]) == ({} if sound else {"env": BOTH})
    hook = {"hookName": "poststop", "path": "/a", "env": [variable]}
    assert levels("hooks", [hook]) == ({} if sound else {"env": BOTH})


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"path": ""}, {"required": BOTH}),
        ({}, {"required": BOTH}),
        ({"path": "gpu"}, {"device-path": TEXT}),
        ({"path": "/a", "hostPath": "b"}, {"device-path": TEXT}),
        ({"path": "/a", "type": "z"}, {"device-type": BOTH}),
        ({"path": "/a", "type": "u"}, {}),
        ({"path": "/a", "permissions": "rwx"}, {"device-permissions": BOTH}),
        ({"path": "/a", "permissions": "none"}, {}),
        ({"path": "/a", "permissions": "rr"}, {}),
        ({"path": "/a", "major": -1}, {"device-number": BOTH}),
        ({"path": "/a", "major": 2**63}, {"type": BOTH, "number": ("warning", "warning")}),
        ({"path": "/a", "fileMode": -1}, {"type": BOTH}),
        ({"path": "/a", "uid": 2**32}, {"type": BOTH}),
        ({"path": "/a", "uid": 2**32 - 1, "gid": 0, "fileMode": 0}, {}),
        ({"path": "/a", "major": True}, {"type": BOTH}),
        ({"path": "/a", "major": 1.5}, {"type": BOTH}),
    ],
)
def test_device_nodes(levels: Levels, node: Any, expected: object) -> None:
    """CDI-016. A number of -1 would be a wildcard for the cgroup."""
    assert levels("deviceNodes", [node]) == expected


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ({"hookName": "createRuntime", "path": "/a", "args": ["a"], "timeout": 1}, {}),
        ({"hookName": "prestart", "path": "/a"}, {"hook-prestart": ("warning", "")}),
        ({"hookName": "start", "path": "/a"}, {"hook-name": BOTH}),
        ({"path": "/a"}, {"required": BOTH}),
        ({"hookName": "poststop"}, {"required": BOTH}),
        ({"hookName": "poststop", "path": "a"}, {"hook-path": TEXT}),
        ({"hookName": "poststop", "path": "/a", "timeout": 0}, {"hook-timeout": TEXT}),
        ({"hookName": "poststop", "path": "/a", "timeout": -1}, {"hook-timeout": TEXT}),
    ],
)
def test_hooks(levels: Levels, hook: Any, expected: object) -> None:
    """CDI-017. Absolute paths and timeouts above zero are specified, but not checked elsewhere."""
    assert levels("hooks", [hook]) == expected


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ({"hostPath": "/a", "containerPath": "/b", "options": ["ro"]}, {}),
        ({"hostPath": "/a"}, {"required": BOTH}),
        ({"containerPath": "/a"}, {"required": BOTH}),
        ({"hostPath": "/a", "containerPath": "/b", "options": "ro"}, {"type": BOTH}),
    ],
)
def test_mounts(levels: Levels, mount: Any, expected: object) -> None:
    """CDI-018."""
    assert levels("mounts", [mount]) == expected


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("a", "x"), ("b", "y")], {}),
        ([("a", "x"), ("a", "y")], {"net-device": BOTH}),
        ([("a", "x"), ("b", "x")], {"net-device": BOTH}),
        ([("", "x")], {"required": BOTH}),
        ([("a", "")], {"required": BOTH}),
    ],
)
def test_net_devices_move_once(levels: Levels, pairs: Any, expected: object) -> None:
    """CDI-019: within one set of edits."""
    devices = [{"hostInterfaceName": host, "name": name} for host, name in pairs]
    assert levels("netDevices", devices) == expected


def test_the_file_and_its_device_may_name_the_same_interface(document: Document) -> None:
    """CDI-019: two sets of edits are judged apart."""
    edits = {"netDevices": [{"hostInterfaceName": "a", "name": "x"}]}
    value = document(devices={"gpu": edits}, edits=edits)
    assert judge(json.dumps(value).encode(), policy="strict").findings == ()


@pytest.mark.parametrize(
    ("name", "sound"),
    [("/", True), ("gold", True), ("", True), (".", False), ("..", False), ("a/b", False),
     ("a\nb", False), ("x" * 4096, False), ("x" * 4095, True)],
)  # fmt: skip
def test_a_class_of_service_is_a_file_name(levels: Levels, name: str, sound: bool) -> None:
    """CDI-020: it becomes a directory of resctrl."""
    assert levels("intelRdt", {"closID": name}) == ({} if sound else {"clos-id": BOTH})


def test_the_edits_of_the_file_are_judged_as_well(document: Document) -> None:
    """Their pointer tells them apart."""
    value = document(edits={"env": ["A"]})
    (finding,) = judge(json.dumps(value).encode()).findings
    assert finding.pointer == ("containerEdits", "env", 0)
