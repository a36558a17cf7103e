"""What lies on a published volume: written, read and measured as a workload would."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from conformance.csi.steps import Mounted
from conformance.engine.verdict import Broken, expect

MIB = 1 << 20
_FILE = "refimpl-content"


def fresh() -> bytes:
    """Content that nothing else holds."""
    return f"refimpl {secrets.token_hex(16)}\n".encode()


def write(mounted: Mounted, content: bytes) -> None:
    """Puts content into a file of a mount volume, or at the start of a block volume, for good.

    Raises Broken where the volume refuses it."""
    error = write_error(mounted, content)
    rule = f"a volume published at {mounted.target_path} can be written to"
    expect(error is None, rule, wanted="no error", got=error)


def write_error(mounted: Mounted, content: bytes) -> OSError | None:
    """Tries to `write`; how the volume refused it, None where it did not."""
    try:
        descriptor = os.open(
            _where(mounted), os.O_WRONLY | (0 if _is_block(mounted) else os.O_CREAT)
        )
        try:
            os.write(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        return error
    return None


def read(mounted: Mounted, length: int) -> bytes:
    """What `write` has put there, empty where there is nothing."""
    try:
        with Path(_where(mounted)).open("rb") as file:
            return file.read(length)
    except FileNotFoundError:
        return b""


def expect_content(mounted: Mounted, content: bytes, rule: str) -> None:
    """Raises Broken unless the volume holds the content."""
    try:
        present = read(mounted, len(content))
    except OSError as error:
        expect(False, rule, wanted=content, got=error)
    else:
        expect(present == content, rule, wanted=content, got=present or "no such content")


def erase(mounted: Mounted) -> None:
    """Takes the file that `write` has made away again; a block volume keeps what it has."""
    if not _is_block(mounted):
        Path(_where(mounted)).unlink(missing_ok=True)


def size(mounted: Mounted) -> int:
    """Bytes of a block volume's device, or what statfs(2) tells of a mount volume as its total."""
    with opened(mounted) as descriptor:
        if _is_block(mounted):
            return os.lseek(descriptor, 0, os.SEEK_END)
        seen = os.fstatvfs(descriptor)
        return seen.f_blocks * seen.f_frsize


@contextlib.contextmanager
def opened(mounted: Mounted) -> Iterator[int]:
    """The target, open for reading; Broken where it cannot be."""
    try:
        descriptor = os.open(mounted.target_path, os.O_RDONLY)
    except OSError as error:
        raise Broken("a published volume can be opened", "no error", str(error)) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _where(mounted: Mounted) -> str:
    return mounted.target_path if _is_block(mounted) else f"{mounted.target_path}/{_FILE}"


def _is_block(mounted: Mounted) -> bool:
    return mounted.request.volume_capability.HasField("block")
