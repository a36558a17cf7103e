"""refimpl.csi.storage.loops: files as block devices."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from refimpl.csi.storage import loops
from refimpl.csi.storage.privileged import can_attach

Attach = Callable[..., str]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A file of 1 MiB; skips where there are no loop devices."""
    if not can_attach(str(tmp_path)):
        pytest.skip("this machine lends no loop devices")
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(1 << 20)
    return path


@pytest.fixture
def attach(image: Path) -> Iterator[Attach]:
    """Attaches the image; what is still attached at the end goes."""

    def device(**how: bool) -> str:
        path, descriptor = loops.attach(str(image), **how)
        os.close(descriptor)
        return path

    yield device
    for path, file in loops.attached().items():
        if file == str(image):
            loops.detach(path)


def holds(device: str, image: Path) -> bool:
    """Whether a device shows the image; others use the machine's devices, too, and a free one soon
    shows another file."""
    return loops.attached().get(device) == str(image)


def size(device: str) -> int:
    """Bytes of a device."""
    with open(device, "rb") as file:
        return file.seek(0, os.SEEK_END)


def test_a_device_has_the_size_and_content_of_its_file(image: Path, attach: Attach) -> None:
    """And is known by its file while it lasts."""
    device = attach()
    assert holds(device, image)
    with open(device, "r+b") as file:
        file.write(b"hello")
    assert image.read_bytes()[:5] == b"hello"
    assert size(device) == 1 << 20
    loops.detach(device)
    assert not holds(device, image)


def test_an_old_kernel_attaches_in_two_steps(
    image: Path, attach: Attach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LOOP_CONFIGURE came with Linux 5.8."""
    monkeypatch.setattr(loops, "LOOP_CONFIGURE", 0x4CFF)
    device = attach()
    assert holds(device, image)
    assert not loops.autoclears(device)
    assert loops.is_readonly(attach(readonly=True))
    assert not holds(attach(autoclear=True), image)


def test_a_device_follows_its_file_when_told(image: Path, attach: Attach) -> None:
    """Expansion of a block volume."""
    device = attach()
    os.truncate(image, 2 << 20)
    assert size(device) == 1 << 20
    loops.grow(device)
    assert size(device) == 2 << 20


def test_a_read_only_device_refuses_writes(attach: Attach) -> None:
    """Some kernels refuse the opening, others the write."""
    device = attach(readonly=True)
    assert loops.is_readonly(device)
    assert not loops.is_readonly(attach())
    with pytest.raises(PermissionError), open(device, "r+b", buffering=0) as file:
        file.write(b"x" * 512)


def test_an_autoclearing_device_goes_with_its_last_user(image: Path, attach: Attach) -> None:
    """A crash leaves no device behind."""
    assert not holds(attach(autoclear=True), image)


def test_a_device_that_is_free_is_detached_in_vain(
    attach: Attach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is not there. The kernel's answer is made up: by then the device may be another
    test's."""
    device = attach()
    asked: list[int] = []

    def free(_: int, request: int) -> None:
        asked.append(request)
        raise OSError(errno.ENXIO, "No such device or address")

    with monkeypatch.context() as patched:
        patched.setattr("fcntl.ioctl", free)
        loops.detach(device)
    assert asked == [loops.LOOP_CLR_FD]
    loops.detach("/dev/loop-that-does-not-exist")


def test_a_device_that_stays_says_so(attach: Attach) -> None:
    """A later driver tells the two apart."""
    assert not loops.autoclears(attach())
    assert not loops.autoclears("/dev/loop-that-does-not-exist")


def test_a_missing_file_cannot_be_attached(image: Path) -> None:
    """And takes no device."""
    missing = str(image) + "-missing"
    with pytest.raises(FileNotFoundError):
        loops.attach(missing)
    assert missing not in loops.attached().values()
