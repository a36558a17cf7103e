"""Images as a file that `ctr`, `skopeo` and `podman` read (OCI image-spec, image-layout.md)."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from refimpl import files
from refimpl.images.blobs import OCI, Blob, document
from refimpl.images.build import Built

__all__ = ["write_archive"]


def write_archive(path: Path, images: Mapping[str, Built]) -> Path:
    """Writes an archive of images by their whole name (registry, repository, tag); returns `path`.

    containerd takes the name from the annotation `io.containerd.image.name`, others from
    `org.opencontainers.image.ref.name`. Raises OSError.
    """
    listed: list[dict[str, object]] = []
    blobs: dict[str, Blob] = {}
    for name, built in images.items():
        named = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
        listed.append(built.manifest.descriptor(annotations=named))
        blobs |= {built.manifest.digest: built.manifest, **built.blobs}
    members = {"schemaVersion": 2, "mediaType": OCI.index, "manifests": listed}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        _add(archive, "oci-layout", document({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", document(members))
        for digest, blob in sorted(blobs.items()):
            _add(archive, f"blobs/{digest.replace(':', '/')}", blob.content)
    files.replace(path, packed.getvalue())
    return path


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
