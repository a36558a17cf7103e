"""refimpl.csi.storage.devices: which loop device shows which volume where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.csi.storage import loops
from refimpl.csi.storage.devices import LoopDevices
from refimpl.csi.storage.privileged import can_attach


@pytest.fixture
def content(tmp_path: Path) -> Iterator[str]:
    """A file of 1 MiB; devices over it are gone at the end."""
    if not can_attach(str(tmp_path)):
        pytest.skip("this machine lends no loop devices")
    path = tmp_path / "content"
    path.write_bytes(bytes(1 << 20))
    yield str(path)
    LoopDevices().sweep(lambda file: file == str(path))
    assert str(path) not in loops.attached().values()


def test_a_device_is_attached_once_for_each_right(content: str) -> None:
    """Writers share one, readers another."""
    devices = LoopDevices()
    writers = devices.attached("v", content, readonly=False)
    readers = devices.attached("v", content, readonly=True)
    assert devices.attached("v", content, readonly=False) is writers
    assert devices.of("v") == [writers, readers]
    assert devices.of("other") == []
    assert devices.get("v", readonly=True) is readers


def test_a_device_goes_with_its_last_target(content: str) -> None:
    """Not before."""
    devices = LoopDevices()
    device = devices.attached("v", content, readonly=False)
    device.targets |= {"/a", "/b"}
    devices.release("v", "/a")
    assert device.path in loops.attached()
    devices.release("v", "/b")
    devices.release("v", "/b")
    assert device.path not in loops.attached()


def test_devices_of_an_earlier_process_are_found(content: str) -> None:
    """With their right to write; autoclearing ones belong to mounts."""
    before = LoopDevices().attached("v", content, readonly=True)
    _, descriptor = loops.attach(content, autoclear=True)
    devices = LoopDevices()
    devices.find({content: "v"})
    os.close(descriptor)
    assert [device.path for device in devices.of("v")] == [before.path]
    assert devices.get("v", readonly=True) == before


def test_sweeping_spares_what_is_shown_and_what_is_not_ours(content: str) -> None:
    """Detaching the device of somebody else would tear its file system apart."""
    devices = LoopDevices()
    device = devices.attached("v", content, readonly=False)
    device.targets.add("/t")
    idle = devices.attached("v", content, readonly=True)
    devices.sweep(lambda _: False)
    assert idle.path in loops.attached()
    devices.sweep(lambda file: file == content)
    assert device.path in loops.attached()
    assert idle.path not in loops.attached()
