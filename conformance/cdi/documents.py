"""Documents of CDI, and the OCI config that devices are injected into."""

from __future__ import annotations

import copy
from typing import Any

Document = dict[str, Any]

VERSIONS = ("0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")
"""Those that a document may declare, oldest first (SPEC, "Released versions")."""
LATEST = VERSIONS[-1]
KIND = "vendor.example/device"

OCI: Document = {
    "ociVersion": "1.2.0",
    "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "env": ["PATH=/bin"]},
    "root": {"path": "rootfs"},
}
"""A container to inject into."""


def document(
    *,
    version: str = LATEST,
    kind: str = KIND,
    name: str = "a",
    edits: Document | None = None,
    device: Document | None = None,
    spec: Document | None = None,
    **members: Any,
) -> Document:
    """A sound document with one device; `edits` are its edits, `device` and `members` add to the
    device and to the whole, `spec` are the edits of the whole.
    """
    own = {"env": ["REFIMPL_DEVICE=" + name]} if edits is None else edits
    whole = {
        "cdiVersion": version,
        "kind": kind,
        "devices": [{"name": name, "containerEdits": own, **(device or {})}],
    }
    return {**whole, **({"containerEdits": spec} if spec is not None else {}), **members}


def several(names: str, *, kind: str = KIND, spec: Document | None = None) -> Document:
    """A document with one device for each letter, which sets a variable of its name."""
    whole = document(kind=kind, spec=spec)
    whole["devices"] = [marked(name) for name in names]
    return whole


def marked(name: str) -> Document:
    """A device that shows in the environment that it was injected."""
    return {"name": name, "containerEdits": {"env": [f"REFIMPL_{name}=1"]}}


def hook(path: str, stage: str = "createRuntime", **members: Any) -> Document:
    """A hook."""
    return {"hookName": stage, "path": path, **members}


def variables(config: Document, prefix: str = "REFIMPL_") -> list[str]:
    """The variables of a config with that prefix, in order."""
    environment = (config.get("process") or {}).get("env") or []
    return [each for each in environment if each.startswith(prefix)]


def hooks(config: Document, stage: str = "createRuntime") -> list[str]:
    """The paths of the suite's hooks at a stage."""
    entries = (config.get("hooks") or {}).get(stage) or []
    return [each["path"] for each in entries if each["path"].startswith("/opt/refimpl")]


def with_linux(**members: Any) -> Document:
    """A container whose config has these members of `linux`."""
    return {**copy.deepcopy(OCI), "linux": members}


def linux(config: Document) -> Document:
    """What is special to Linux in a config."""
    return config.get("linux") or {}
