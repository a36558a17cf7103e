"""File systems inside an image: telling, formatting, growing and freezing them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping

import attrs

from refimpl.wire.status import Code, Refused

__all__ = [
    "available",
    "fit",
    "format_image",
    "frozen",
    "grow",
    "least",
    "thaw",
    "type_of",
    "words",
]

_EXT4_IOC_RESIZE_FS = 0x40086610
_FIFREEZE = 0xC0045877
_FITHAW = 0xC0045878
_BLOCK = 4096
_MIB = 1 << 20

# Only what a fresh sparse image needs is written: 5 ms for 10 GiB instead of 14.
_LAZY = "nodiscard,lazy_itable_init=1,lazy_journal_init=1"
_EXT = (
    *("-q", "-F", "-m", "0", "-b", str(_BLOCK), "-i", "16384", "-E", _LAZY),
    *("-O", "^resize_inode,meta_bg"),
)
_JOURNAL = ("-J", "size=4")
# A journal takes 4 MiB at least; in a small volume that would be more than a tenth.
_WORTH_A_JOURNAL = 128 * _MIB


@attrs.frozen
class _Kind:
    """How one file system is made and grown; `least` is the smallest image in bytes it fits in,
    `words` are options without which a copy could not be mounted beside its original."""

    make: tuple[str, ...]
    grow: tuple[str, ...] = ()
    least: int = _MIB
    words: tuple[str, ...] = ()


_KINDS: Mapping[str, _Kind] = {
    "ext2": _Kind(("mkfs.ext2", *_EXT)),
    "ext3": _Kind(("mkfs.ext3", *_JOURNAL, *_EXT), least=16 * _MIB),
    "ext4": _Kind(("mkfs.ext4", *_EXT)),
    "xfs": _Kind(("mkfs.xfs", "-q", "-f"), ("xfs_growfs",), 300 * _MIB, ("nouuid",)),
    # No btrfs: the kernel takes two images with one id for one file system.
}
# Magic numbers: offset, bytes, type. ext4 mounts its elder brothers as well.
_MAGIC = ((1080, b"\x53\xef", "ext4"), (0, b"XFSB", "xfs"))
_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def available() -> frozenset[str]:
    """The file systems this machine can make."""
    return frozenset(name for name, kind in _KINDS.items() if _program(kind.make[0]))


def least(fs_type: str) -> int:
    """The smallest image in bytes for a file system of that type."""
    return _KINDS[fs_type].least if fs_type in _KINDS else _MIB


def words(fs_type: str) -> tuple[str, ...]:
    """Mount options that a file system of that type needs here."""
    return _KINDS[fs_type].words if fs_type in _KINDS else ()


def type_of(image: str) -> str:
    """The file system inside an image, "" for none that we know. Raises OSError."""
    with open(image, "rb") as file:
        for offset, magic, name in _MAGIC:
            file.seek(offset)
            if file.read(len(magic)) == magic:
                return name
    return ""


def format_image(image: str, fs_type: str) -> None:
    """Makes a file system in an empty image.

    Raises INVALID_ARGUMENT for a type this machine cannot make, INTERNAL when the program fails.
    """
    kind = _KINDS.get(fs_type)
    program = _program(kind.make[0]) if kind else None
    if kind is None or program is None:
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"fs_type {fs_type!r} cannot be made in an image on this machine; known are "
            f"{', '.join(sorted(available()))}",
        )
    make = list(kind.make[1:])
    if fs_type == "ext4":
        if os.stat(image).st_size < _WORTH_A_JOURNAL:
            make[-1] += ",^has_journal"
        else:
            make += _JOURNAL
    _run([program, *make, image], f"format an image as {fs_type}")


def fit(image: str) -> None:
    """Grows an ext file system that nobody has mounted to the size of its image.

    Others grow only while mounted: see `grow`. Raises OSError or Refused.
    """
    with open(image, "rb") as file:
        file.seek(1024)
        block = file.read(1024)
    count, scale = struct.unpack_from("<I", block, 4)[0], struct.unpack_from("<I", block, 24)[0]
    if count << (10 + scale) < os.stat(image).st_size & -_BLOCK:
        # Forced: the check it asks for otherwise is for file systems that may be damaged.
        _run([_program("resize2fs") or "resize2fs", "-f", image], "grow a volume")


def grow(mounted: str, fs_type: str) -> None:
    """Grows a mounted file system to the size of its device.

    For ext this takes CAP_SYS_RESOURCE. Raises OSError or Refused.
    """
    if fs_type.startswith("ext"):
        with _open(mounted) as descriptor:
            blocks = _device_size(os.fstat(descriptor).st_dev) // _BLOCK
            fcntl.ioctl(descriptor, _EXT4_IOC_RESIZE_FS, struct.pack("=Q", blocks))
    elif kind := _KINDS.get(fs_type):
        _run([_program(kind.grow[0]) or kind.grow[0], *kind.grow[1:], mounted], "grow a volume")


@contextlib.contextmanager
def frozen(mounted: str) -> Iterator[None]:
    """Holds back every write to a mounted file system, so that its image is consistent."""
    with _open(mounted) as descriptor:
        try:
            fcntl.ioctl(descriptor, _FIFREEZE, 0)
        except OSError as error:
            if error.errno != errno.EBUSY:  # frozen by somebody else: good enough for a copy
                raise
            yield
            return
        try:
            yield
        finally:
            _thaw(descriptor)


def thaw(mounted: str) -> None:
    """Lets writes through again after a driver died while it held them back."""
    with _open(mounted) as descriptor:
        _thaw(descriptor)


def _thaw(descriptor: int) -> None:
    try:
        fcntl.ioctl(descriptor, _FITHAW, 0)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # not frozen, cannot be
            raise


@contextlib.contextmanager
def _open(directory: str) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _device_size(number: int) -> int:
    # sysfs counts sectors of 512 bytes whatever the device says of itself.
    path = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/size"
    with open(path, encoding="ascii") as file:
        return int(file.read()) * 512


def _program(name: str) -> str | None:
    return shutil.which(name, path=_PATH)


def _run(command: list[str], doing: str) -> None:
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        full = "No space left" in process.stderr
        raise Refused(
            Code.RESOURCE_EXHAUSTED if full else Code.INTERNAL,
            f"cannot {doing}: {os.path.basename(command[0])} ended with {process.returncode}: "
            f"{process.stderr.strip()[-400:]}",
        )
