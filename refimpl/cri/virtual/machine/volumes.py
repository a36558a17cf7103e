"""Files of images, for what mounts them: read from their layers (OCI image-spec, layer.md)."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Mapping

from refimpl.cri.state.containers import VOLUME_FAILED
from refimpl.cri.state.models import Image
from refimpl.images.store import Blobs
from refimpl.wire.status import Code, Refused

__all__ = ["content_of", "part"]

_GONE, _ALL_GONE = ".wh.", ".wh..wh..opq"


def content_of(blobs: Blobs, image: Image) -> dict[str, bytes | None]:
    """Each file's content by its relative path; links as well, where they lead to a file of the
    image."""
    files: dict[str, bytes | None] = {}
    for digest in image.layers:
        archive = io.BytesIO(b"".join(blobs.pieces(digest)))
        with tarfile.open(fileobj=archive) as opened:
            for member in opened:
                _take(files, opened, member)
    return files


def part(files: Mapping[str, bytes | None] | None, sub_path: str) -> dict[str, bytes | None]:
    """What is at a path and below it; nothing where no files are known. INVALID_ARGUMENT for one
    that leads out of the image, NOT_FOUND for one that it has not got."""
    if not sub_path:
        return dict(files or {})
    if sub_path.startswith("/") or ".." in sub_path.split("/"):
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"{VOLUME_FAILED}: image_sub_path {sub_path!r} leads out of the image: it is a path in"
            " it",
        )
    if files is None:
        return {}
    path = posixpath.normpath(sub_path)
    found = {
        "" if each == path else each.removeprefix(f"{path}/"): content
        for each, content in files.items()
        if each == path or each.startswith(f"{path}/")
    }
    if not any(content is not None for content in found.values()):
        raise Refused(
            Code.NOT_FOUND, f"{VOLUME_FAILED}: the image has nothing at image_sub_path {sub_path!r}"
        )
    return found


def _take(files: dict[str, bytes | None], opened: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    path = posixpath.normpath(member.name)
    head, name = posixpath.split(path)
    if name == _ALL_GONE or name.startswith(_GONE):
        gone = head if name == _ALL_GONE else posixpath.join(head, name.removeprefix(_GONE))
        for each in [each for each in files if each == gone or each.startswith(f"{gone}/")]:
            del files[each]
    elif member.isfile():
        file = opened.extractfile(member)
        files[path] = file.read() if file else b""
    elif member.issym() or member.islnk():
        target = member.linkname if member.islnk() else posixpath.join(head, member.linkname)
        content = files.get(posixpath.normpath(target.lstrip("/")))
        if content is not None:
            files[path] = content
