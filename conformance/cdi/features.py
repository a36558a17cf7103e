"""What came with a version of the specification, as documents that make use of it."""

from __future__ import annotations

from typing import Any

import attrs

from conformance.cdi.documents import KIND, VERSIONS, Document, document

_MOUNT = {"hostPath": "/opt/refimpl", "containerPath": "/opt/refimpl", "type": "bind"}
_NODE = {"path": "/dev/refimpl", "hostPath": "/dev/null"}
_NET = {"hostInterfaceName": "refimpl0", "name": "net0"}


@attrs.frozen(eq=False)
class VersionFeature:
    """`edits` are members of containerEdits, `members` of the document, `device` of its device."""

    since: str
    label: str
    edits: Document = attrs.field(factory=dict)
    members: Document = attrs.field(factory=dict)
    device: Document = attrs.field(factory=dict)

    @property
    def before(self) -> str:
        """The last version without it."""
        return VERSIONS[VERSIONS.index(self.since) - 1]

    def document(self, version: str, *, of_spec: bool = False) -> Document:
        """A document that uses it, `of_spec` in the edits of the whole file."""
        return combined([self], version, of_spec=of_spec)


FEATURES = (
    VersionFeature("0.4.0", "the type of a mount", {"mounts": [_MOUNT]}),
    VersionFeature("0.5.0", "hostPath of a device node", {"deviceNodes": [_NODE]}),
    VersionFeature("0.5.0", "a device name starting with a digit", device={"name": "0"}),
    VersionFeature("0.6.0", "annotations", members={"annotations": {"refimpl.example/a": "b"}}),
    VersionFeature("0.6.0", "annotations of a device", device={"annotations": {"a": "b"}}),
    VersionFeature("0.6.0", "a dot in the class", members={"kind": f"{KIND}.v2"}),
    VersionFeature("0.7.0", "intelRdt", {"intelRdt": {"closID": "refimpl"}}),
    VersionFeature("0.7.0", "additionalGids", {"additionalGids": [5]}),
    VersionFeature("1.1.0", "netDevices", {"netDevices": [_NET]}),
    VersionFeature("1.1.0", "intelRdt.schemata", {"intelRdt": {"schemata": ["L3:0=f"]}}),
    VersionFeature("1.1.0", "intelRdt.enableMonitoring", {"intelRdt": {"enableMonitoring": True}}),
)


def combined(features: list[VersionFeature], version: str, *, of_spec: bool = False) -> Document:
    """A document that uses all of them."""
    edits: dict[str, Any] = {}
    members: Document = {}
    device: Document = {}
    for feature in features:
        for name, value in feature.edits.items():
            kept = edits.get(name)
            edits[name] = {**kept, **value} if isinstance(kept, dict) else value
        members |= feature.members
        device |= feature.device
    own = {"env": ["REFIMPL_DEVICE=a"], **({} if of_spec else edits)}
    spec = edits if of_spec and edits else None
    return document(version=version, edits=own, device=device, spec=spec, **members)


def needed(features: list[VersionFeature]) -> str:
    """The lowest version that may be declared."""
    return max((each.since for each in features), key=VERSIONS.index, default=VERSIONS[0])
