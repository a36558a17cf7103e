"""Storage in every mode this machine allows, with proof that nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from refimpl.csi.state.models import Access, AccessMode, VolumeCapability
from refimpl.csi.storage import (
    ANYWHERE,
    Bounds,
    Mode,
    OpenStorage,
    loops,
    mounts,
    open_storage,
)
from refimpl.wire.status import Refused

Open = Callable[..., OpenStorage]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens storage below tmp_path/root, skips where the machine does not allow the mode, and
    fails the test that leaves a mount or a loop device."""
    storages: list[OpenStorage] = []

    def storage(mode: Mode, bounds: Bounds = ANYWHERE) -> OpenStorage:
        try:
            storages.append(open_storage(mode, str(tmp_path / "root"), bounds))
        except Refused as refused:
            pytest.skip(refused.message)
        return storages[-1]

    yield storage
    for opened_storage in storages:
        opened_storage.close()
    mounted = [mount.point for mount in mounts.table() if mount.point.startswith(f"{tmp_path}/")]
    devices = [
        device
        for device, file in loops.attached().items()
        if file.startswith(f"{tmp_path}/") and not loops.autoclears(device)
    ]
    for point in reversed(mounted):  # a test that failed must not harm the next
        mounts.unmount(point, lazy=True)
    for device in devices:
        loops.detach(device)
    assert (mounted, devices) == ([], [])


@pytest.fixture
def mounted() -> Callable[..., VolumeCapability]:
    """A capability of access type mount: mounted("noatime", fs_type="ext4")."""

    def capability(*flags: str, fs_type: str = "", group: str = "") -> VolumeCapability:
        mode = AccessMode.MULTI_NODE_MULTI_WRITER
        return VolumeCapability("mount", mode, fs_type, flags, group)

    return capability


@pytest.fixture
def capability() -> Callable[[Access], VolumeCapability]:
    """The plainest capability of an access type."""
    return lambda access: VolumeCapability(access, AccessMode.MULTI_NODE_MULTI_WRITER)
