"""What lies on a published volume: written, read and measured as a workload would."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from conformance.csi.acts import Mounted
from conformance.engine.verdict import expect

MIB = 1 << 20
_FILE = "refimpl-content"


def fresh() -> bytes:
    """Content that nothing else holds."""
    return f"refimpl {secrets.token_hex(16)}\n".encode()


def write(place: Mounted, content: bytes) -> None:
    """Puts content into a file of a mount volume, or at the start of a block volume, for good."""
    descriptor = os.open(_where(place), os.O_WRONLY | (0 if _is_block(place) else os.O_CREAT))
    try:
        os.write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_error(place: Mounted, content: bytes) -> OSError | None:
    """Tries to `write`; how the volume refused it, None where it did not."""
    try:
        write(place, content)
    except OSError as error:
        return error
    return None


def read(place: Mounted, length: int) -> bytes:
    """What `write` has put there, empty where there is nothing."""
    try:
        with Path(_where(place)).open("rb") as file:
            return file.read(length)
    except FileNotFoundError:
        return b""


def expect_content(place: Mounted, content: bytes, rule: str) -> None:
    """Raises Broken unless the volume holds the content."""
    found = read(place, len(content))
    expect(found == content, rule, wanted=content, got=found or "no such content")


def size(place: Mounted) -> int:
    """Bytes of a block volume's device, or what statfs(2) tells of a mount volume as its total."""
    if _is_block(place):
        descriptor = os.open(place.target_path, os.O_RDONLY)
        try:
            return os.lseek(descriptor, 0, os.SEEK_END)
        finally:
            os.close(descriptor)
    seen = os.statvfs(place.target_path)
    return seen.f_blocks * seen.f_frsize


def _where(place: Mounted) -> str:
    return place.target_path if _is_block(place) else f"{place.target_path}/{_FILE}"


def _is_block(place: Mounted) -> bool:
    return place.request.volume_capability.HasField("block")
