"""The shape of a CDI document as a table, and a reader that brings a decoded one into it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from refimpl.cdi.findings import Findings
from refimpl.cdi.versions import GONE, at_least, known
from refimpl.documents import Pointer
from refimpl.documents.numbers import shown

OBJECTS: dict[str, dict[str, str]] = {
    "spec": {
        "cdiVersion": "string",
        "kind": "string",
        "annotations": "{string}",
        "devices": "[device]",
        "containerEdits": "edits",
    },
    "device": {"name": "string", "annotations": "{string}", "containerEdits": "edits"},
    "edits": {
        "env": "[string]",
        "deviceNodes": "[node]",
        "netDevices": "[interface]",
        "hooks": "[hook]",
        "mounts": "[mount]",
        "intelRdt": "rdt",
        "additionalGids": "[uint32]",
    },
    "node": {
        "path": "string",
        "hostPath": "string",
        "type": "string",
        "major": "int64",
        "minor": "int64",
        "fileMode": "uint32",
        "permissions": "string",
        "uid": "uint32",
        "gid": "uint32",
    },
    "interface": {"hostInterfaceName": "string", "name": "string"},
    "hook": {
        "hookName": "string",
        "path": "string",
        "args": "[string]",
        "env": "[string]",
        "timeout": "int64",
    },
    "mount": {
        "hostPath": "string",
        "containerPath": "string",
        "options": "[string]",
        "type": "string",
    },
    "rdt": {
        "closID": "string",
        "l3CacheSchema": "string",
        "memBwSchema": "string",
        "schemata": "[string]",
        "enableMonitoring": "boolean",
        "enableCMT": "boolean",
        "enableMBM": "boolean",
    },
}
"""Object to member to type: [x] is an array, {x} an object with values of x."""

REQUIRED: dict[str, tuple[str, ...]] = {
    "spec": ("cdiVersion", "kind"),
    "node": ("path",),
    "interface": ("hostInterfaceName", "name"),
    "hook": ("hookName", "path"),
    "mount": ("hostPath", "containerPath"),
}

RANGES = {"int64": (-(2**63), 2**63 - 1), "uint32": (0, 2**32 - 1)}


class _Misfit:
    """Stands for a value that is of no use, after it was found wrong."""


_MISFIT = _Misfit()


def read(value: Any, findings: Findings) -> dict[str, Any]:
    """The document with only what it may hold, in the types it may have; the rest is found wrong.

    Null members are left out; text takes the place of a number or boolean where a string belongs.
    """
    version = value.get("cdiVersion") if isinstance(value, dict) else None
    reader = _Reader(findings, version if isinstance(version, str) else "")
    shaped = reader.of("spec", value, ())
    return shaped if isinstance(shaped, dict) else {}


class _Reader:
    def __init__(self, findings: Findings, version: str) -> None:
        self.findings, self.version = findings, version

    def of(self, kind: str, value: Any, pointer: Pointer) -> Any:
        """The value as one of `kind`, or _MISFIT."""
        if kind.startswith("[") and isinstance(value, list):
            items = [
                self.of(kind[1:-1], item, (*pointer, index)) for index, item in enumerate(value)
            ]
            return [_stand_in(kind[1:-1]) if item is _MISFIT else item for item in items]
        if kind.startswith("{") and isinstance(value, dict):
            members = {
                name: self.of(kind[1:-1], item, (*pointer, name)) for name, item in value.items()
            }
            return {name: item for name, item in members.items() if item is not _MISFIT}
        if kind in OBJECTS and isinstance(value, dict):
            return self._object(kind, value, pointer)
        if kind == "string":
            return self._string(value, pointer)
        if kind == "boolean" and isinstance(value, bool):
            return value
        if kind in RANGES and _whole(value):
            return self._number(kind, value, pointer)
        return self._misfit(kind, value, pointer)

    def _object(self, kind: str, value: dict[str, Any], pointer: Pointer) -> dict[str, Any]:
        members = {}
        for name, member in value.items():
            if not self._may_have(kind, name, pointer):
                continue
            if member is None:
                text = f"{name} is null, not {_article(OBJECTS[kind][name])}"
                self.findings.add("null", (*pointer, name), text)
                continue
            shaped = self.of(OBJECTS[kind][name], member, (*pointer, name))
            if shaped is not _MISFIT:
                members[name] = shaped
        for name in REQUIRED.get(kind, ()):
            if value.get(name) in (None, ""):
                fault = "is empty" if name in value else "is missing"
                self.findings.add("required", (*pointer, name), f"{name} {fault}")
        return members

    def _may_have(self, kind: str, name: str, pointer: Pointer) -> bool:
        if name in GONE and kind == "rdt" and self._had(name):
            text = f"{name} ended with version {GONE[name][1]}"
            self.findings.add("removed-field", (*pointer, name), text, key=True)
            return True
        if name in OBJECTS[kind] and not (kind == "rdt" and name in GONE):
            return True
        near = next((member for member in OBJECTS[kind] if member.lower() == name.lower()), "")
        text = f"{shown(name)!r} is no member of {_WHERE[kind]}"
        hint = f" (did you mean {near}?)" if near and near not in GONE else ""
        self.findings.add("unknown-field", (*pointer, name), text + hint, key=True)
        return False

    def _had(self, name: str) -> bool:
        since, until = GONE[name]
        return (
            known(self.version)
            and at_least(self.version, since)
            and not at_least(self.version, until)
        )

    def _string(self, value: Any, pointer: Pointer) -> Any:
        if isinstance(value, str):
            return value
        if not isinstance(value, bool | int | Decimal):
            return self._misfit("string", value, pointer)
        spelled = getattr(self.findings.document, "spelled", lambda _: None)(pointer)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        text = text if spelled is None else spelled
        self.findings.add(
            "unquoted", pointer, f"{_last(pointer)} is {shown(text)}, which is no string"
        )
        return text

    def _number(self, kind: str, value: int, pointer: Pointer) -> Any:
        low, high = RANGES[kind]
        if low <= value <= high:
            return value
        text = f"{_last(pointer)} is {shown(str(value))}; it must be from {low} to {high}"
        self.findings.add("type", pointer, text)
        return _MISFIT

    def _misfit(self, kind: str, value: Any, pointer: Pointer) -> _Misfit:
        text = f"{_last(pointer)} is {_kind_of(value)}, not {_article(kind)}"
        self.findings.add("type", pointer, text)
        return _MISFIT


_WHERE = {
    "spec": "a specification",
    "device": "a device",
    "edits": "containerEdits",
    "node": "a device node",
    "interface": "a net device",
    "hook": "a hook",
    "mount": "a mount",
    "rdt": "intelRdt",
}


def _stand_in(kind: str) -> Any:
    """Keeps the place of an item that was found wrong; nothing more is found wrong with it."""
    if kind in OBJECTS:
        return {}
    return 0 if kind in RANGES else "_="


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _last(pointer: Pointer) -> str:
    """The member that the pointer leads to, as a sentence names it."""
    if not pointer:
        return "the document"
    if isinstance(pointer[-1], int):
        return f"item {pointer[-1]} of {pointer[-2]}"
    return pointer[-1] if pointer[-1].isalpha() else repr(shown(pointer[-1]))


def _article(kind: str) -> str:
    if kind.startswith("["):
        return "an array"
    if kind.startswith("{") or kind in OBJECTS:
        return "an object"
    return "an integer" if kind in RANGES else f"a {kind}"


def _kind_of(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    if value is None:
        return "null"
    return names.get(type(value), f"the number {shown(str(value))}")
