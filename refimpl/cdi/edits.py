"""Judges containerEdits: what each kind of edit must look like (SPEC, "OCI Edits")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.cdi.findings import Findings
from refimpl.documents import Pointer
from refimpl.documents.numbers import shown

NODE_TYPES = ("b", "c", "u", "p")
NO_PERMISSIONS = "none"
STAGES = (
    "prestart",
    "createRuntime",
    "createContainer",
    "startContainer",
    "poststart",
    "poststop",
)
# PATH_MAX of Linux: a class of service is a directory.
CLOS_LENGTH = 4096

Check = Callable[[dict[str, Any], Pointer, Findings], None]


def check(edits: dict[str, Any], pointer: Pointer, findings: Findings) -> None:
    """Finds what is wrong with the containerEdits at `at`, which are in shape."""
    env(edits, pointer, findings)
    for name, judge in CHECKS.items():
        for index, edit in enumerate(edits.get(name, ())):
            judge(edit, (*pointer, name, index), findings)
    _interfaces(edits.get("netDevices", ()), (*pointer, "netDevices"), findings)
    if "intelRdt" in edits:
        _rdt(edits["intelRdt"], (*pointer, "intelRdt"), findings)


def env(owner: dict[str, Any], pointer: Pointer, findings: Findings) -> None:
    """Finds variables that are not NAME=VALUE, of edits or of a hook."""
    for index, variable in enumerate(owner.get("env", ())):
        if variable.find("=") <= 0:
            text = f"{shown(variable)!r} is no environment variable"
            findings.add("env", (*pointer, "env", index), text)


def _node(node: dict[str, Any], pointer: Pointer, findings: Findings) -> None:
    kind, permissions = node.get("type", ""), node.get("permissions", "")
    if kind and kind not in NODE_TYPES:
        findings.add(
            "device-type", (*pointer, "type"), f"{shown(kind)!r} is no type of device node"
        )
    if permissions != NO_PERMISSIONS and permissions.strip("rwm"):
        text = f"{shown(permissions)!r} are no permissions"
        findings.add("device-permissions", (*pointer, "permissions"), text)
    for name in ("major", "minor"):
        if node.get(name, 0) < 0:
            findings.add("device-number", (*pointer, name), f"{name} is {node[name]}, below zero")
    for name in ("path", "hostPath"):
        _absolute("device-path", node, name, pointer, findings)


def _hook(hook: dict[str, Any], pointer: Pointer, findings: Findings) -> None:
    stage, timeout = hook.get("hookName", ""), hook.get("timeout")
    if stage and stage not in STAGES:
        findings.add("hook-name", (*pointer, "hookName"), f"{shown(stage)!r} is no stage for hooks")
    elif stage == "prestart":
        findings.add(
            "hook-prestart", (*pointer, "hookName"), "prestart is not in the specification"
        )
    _absolute("hook-path", hook, "path", pointer, findings)
    if timeout is not None and timeout <= 0:
        findings.add(
            "hook-timeout", (*pointer, "timeout"), f"the timeout of {timeout} s is not above 0"
        )
    env(hook, pointer, findings)


def _absolute(
    rule: str, owner: dict[str, Any], name: str, pointer: Pointer, findings: Findings
) -> None:
    path = owner.get(name, "")
    if path and not path.startswith("/"):
        findings.add(rule, (*pointer, name), f"{name} {shown(path)!r} is not absolute")


def _interfaces(interfaces: list[dict[str, Any]], pointer: Pointer, findings: Findings) -> None:
    """An interface moves once, and a name is taken once, within one set of edits."""
    for name in ("hostInterfaceName", "name"):
        values: set[str] = set()
        for index, interface in enumerate(interfaces):
            value = interface.get(name, "")
            if value and value in values:
                text = f"{name} {shown(value)!r} is given before"
                findings.add("net-device", (*pointer, index, name), text)
            values.add(value)


def _rdt(rdt: dict[str, Any], pointer: Pointer, findings: Findings) -> None:
    name = rdt.get("closID", "")
    too_long = len(name.encode()) >= CLOS_LENGTH
    if name != "/" and (name in (".", "..") or "/" in name or "\n" in name or too_long):
        text = f"closID {shown(name)!r} is no name of a class of service"
        findings.add("clos-id", (*pointer, "closID"), text)


CHECKS: dict[str, Check] = {"deviceNodes": _node, "hooks": _hook}
"""Member of containerEdits to what judges each of its items; mounts are judged by their shape."""
