"""Publishing a volume another way or at another target, and what lies at a target."""

from __future__ import annotations

import os
from typing import Any

import attrs

from conformance.csi.steps import Mounted
from conformance.csi.target import CsiTarget
from conformance.engine.verdict import expect
from refimpl.csi.api import csi_pb2 as pb


def changed(mounted: Mounted, **fields: Any) -> Mounted:
    """The same publication with fields of its request changed; nothing is sent."""
    request = pb.NodePublishVolumeRequest()
    request.CopyFrom(mounted.request)
    for name in fields:
        request.ClearField(name)  # type: ignore[arg-type]
    request.MergeFrom(pb.NodePublishVolumeRequest(**fields))
    return attrs.evolve(mounted, target_path=request.target_path, request=request)


def publish(csi: CsiTarget, mounted: Mounted, **fields: Any) -> Mounted:
    """Sends NodePublishVolume with fields of its request changed."""
    published = changed(mounted, **fields)
    csi.node.NodePublishVolume(published.request)
    return published


def at_another_target(csi: CsiTarget, mounted: Mounted, **fields: Any) -> Mounted:
    """The same volume published at a further, fresh target."""
    return publish(csi, mounted, target_path=csi.steps.target_path(), **fields)


def block_volume(csi: CsiTarget) -> Mounted:
    """A small block volume, all but published: some drivers give each block its space at once."""
    capability = csi.requests.capability(block=True)
    request = csi.requests.volume(capabilities=[capability])
    return csi.steps.ready(csi.steps.volume(request), capability=capability)


def ready_as(csi: CsiTarget, *, block: bool) -> Mounted:
    """A volume of an access type, all but published."""
    if block:
        return block_volume(csi)
    return csi.steps.ready(capability=csi.requests.capability(block=False))


def expect_gone(csi: CsiTarget, path: str, rule: str) -> None:
    """Raises Broken unless nothing is left at a path (KINDS)."""
    assert csi.paths is not None
    if csi.paths.visible:
        left = os.path.lexists(path)
        expect(not left, rule, wanted=f"nothing at {path}", got=_listed(path) if left else "")
    else:
        kind = csi.paths.kind(path)
        expect(kind == "not_found", rule, wanted=f"nothing at {path}", got=kind)


def _listed(path: str) -> str:
    if not os.path.isdir(path):
        return "a file"
    return f"a directory with {os.listdir(path) or 'nothing in it'}"
