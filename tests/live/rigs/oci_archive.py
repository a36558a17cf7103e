"""Images without a registry: an OCI archive of one layer with busybox, written here.

Layout: image-spec 1.1, image-layout.md; the annotation by which containerd names what it imports
is `io.containerd.image.name`.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["PAUSE", "write_image"]

# `sleep` as the first process of a container ignores SIGTERM; a shell with a trap does not.
PAUSE = ("/bin/sh", "-c", 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done')

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_APPLETS = ("sh", "sleep", "true", "false", "cat", "echo", "ls", "ip", "id", "kill", "env", "head")


def write_image(path: Path, name: str, busybox: Path, command: Sequence[str] = PAUSE) -> Path:
    """Writes the archive of the image `name` (registry, repository and tag), which runs `command`.

    Returns `path`. The layer has /bin/busybox, links for some of its applets, /etc and /tmp.
    """
    blobs: dict[str, bytes] = {}
    layer = _layer(busybox.read_bytes())
    config = _put(blobs, "image.config.v1+json", _config(layer, command))
    kept = _put(blobs, "image.layer.v1.tar", layer)
    manifest = _put(
        blobs,
        "image.manifest.v1+json",
        _document(mediaType=_media("image.manifest.v1+json"), config=config, layers=[kept]),
    )
    manifest["annotations"] = {"io.containerd.image.name": name}
    index = _document(mediaType=_media("image.index.v1+json"), manifests=[manifest])
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index, **blobs}
    with tarfile.open(path, "w") as archive:
        for file, content in files.items():
            _add(archive, file, content)
    return path


def _layer(busybox: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as layer:
        for folder, mode in (("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777)):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            layer.addfile(entry)
        _add(layer, "bin/busybox", busybox, mode=0o755)
        for applet in _APPLETS:
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(entry)
    return packed.getvalue()


def _config(layer: bytes, command: Sequence[str]) -> bytes:
    machine = platform.machine()
    config = {
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {"Env": ["PATH=/bin"], "Entrypoint": list(command)},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        "history": [{"created_by": "refimpl"}],
    }
    return json.dumps(config).encode()


def _document(**members: Any) -> bytes:
    return json.dumps({"schemaVersion": 2, **members}).encode()


def _put(blobs: dict[str, bytes], kind: str, content: bytes) -> dict[str, Any]:
    digest = _digest(content)
    blobs[f"blobs/{digest.replace(':', '/')}"] = content
    return {"mediaType": _media(kind), "digest": digest, "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _media(kind: str) -> str:
    return f"application/vnd.oci.{kind}"


def _add(archive: tarfile.TarFile, name: str, content: bytes, *, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
