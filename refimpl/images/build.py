"""Images: layers with a config, and indexes of images for several platforms."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from refimpl.images.blobs import DOCKER, OCI, Blob, Family, document
from refimpl.images.layers import Layer

__all__ = ["HOST", "Built", "Platform", "build", "index"]

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_MADE = "1970-01-01T00:00:00Z"


@attrs.frozen
class Platform:
    """What an image runs on."""

    architecture: str
    os: str = "linux"


HOST = Platform(_ARCHITECTURES.get(platform.machine(), platform.machine()))


@attrs.frozen
class Built:
    """manifest: of an image, or the index of several. blobs: all that it refers to, by digest.

    id: the digest of its config, by which runtimes call an image; "" of an index.
    """

    manifest: Blob
    blobs: Mapping[str, Blob]
    id: str = ""


def build(
    layers: Sequence[Layer],
    *,
    entrypoint: Sequence[str] = (),
    command: Sequence[str] = (),
    user: str = "",
    environment: Sequence[str] = ("PATH=/bin",),
    working_dir: str = "",
    volumes: Sequence[str] = (),
    stop_signal: str = "",
    labels: Mapping[str, str] | None = None,
    runs_on: Platform = HOST,
    family: Family = "oci",
) -> Built:
    """An image. The arguments are the members of its config (OCI image-spec, config.md)."""
    types = OCI if family == "oci" else DOCKER
    chosen: dict[str, Any] = {
        "Entrypoint": list(entrypoint),
        "Cmd": list(command),
        "User": user,
        "Env": list(environment),
        "WorkingDir": working_dir,
        "Volumes": {volume: {} for volume in volumes},
        "StopSignal": stop_signal,
        "Labels": dict(labels or {}),
    }
    config = {
        "created": _MADE,
        "architecture": runs_on.architecture,
        "os": runs_on.os,
        "config": {name: value for name, value in chosen.items() if value},
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created": _MADE, "created_by": "refimpl"} for _ in layers],
    }
    described = Blob(types.config, document(config))
    packed = [layer.blob(family) for layer in layers]
    manifest = {
        "schemaVersion": 2,
        "mediaType": types.manifest,
        "config": described.descriptor(),
        "layers": [blob.descriptor() for blob in packed],
    }
    blobs = {blob.digest: blob for blob in (described, *packed)}
    return Built(Blob(types.manifest, document(manifest)), blobs, described.digest)


def index(images: Mapping[Platform, Built], family: Family = "oci") -> Built:
    """An index: the same image for several platforms."""
    types = OCI if family == "oci" else DOCKER
    listed = [
        built.manifest.descriptor(
            platform={"architecture": each.architecture, "os": each.os},
        )
        for each, built in images.items()
    ]
    members = {"schemaVersion": 2, "mediaType": types.index, "manifests": listed}
    blobs: dict[str, Blob] = {}
    for built in images.values():
        blobs |= {built.manifest.digest: built.manifest, **built.blobs}
    return Built(Blob(types.index, document(members)), blobs)
