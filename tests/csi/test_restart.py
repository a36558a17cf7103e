"""refimpl.csi.persist and storage together: killed in the middle, started again, nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest

from refimpl.csi.fake import FakeDriver
from refimpl.csi.persist import StateLog, restore
from refimpl.csi.state import DriverState
from refimpl.csi.state.models import Access, AccessMode, VolumeCapability
from refimpl.csi.state.node import NodeState, PublishRequest, StageRequest
from refimpl.csi.state.ports import numbered
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes.requests import NewVolume
from refimpl.csi.storage import Mode, OpenStorage, loops, mounts, open_storage
from refimpl.wire.status import Code, Refused
from tests.conftest import SmallDisk

# Lives in a process of its own until it is killed before or after the writing of a record.
LIFE = """
import os, sys
from refimpl.csi.persist import StateLog
from refimpl.csi.state import DriverState
from refimpl.csi.state.models import AccessMode, VolumeCapability
from refimpl.csi.state.node import NodeState, PublishRequest, StageRequest
from refimpl.csi.state.ports import numbered
from refimpl.csi.state.volumes.requests import NewVolume
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.storage import open_storage

base, mode, access, point, turn = sys.argv[1:]
log, turns = StateLog(base + "/state"), int(turn)

def reached(name):
    global turns
    turns -= name == point
    if not turns:
        os._exit(137)

def on_change(kind, key, record):
    reached(f"{kind}.before")
    log.append(kind, key, record)
    reached(f"{kind}.after")

storage = open_storage(mode, base + "/state/storage")
state = DriverState(
    DriverSettings(), clock=lambda: 0.0, ids=numbered(), storage=storage, on_change=on_change
)
node = NodeState(state.tables, "node-0")
capability = VolumeCapability(access, AccessMode.MULTI_NODE_MULTI_WRITER)
volume = state.volumes.create(NewVolume("v", (capability,))).id
state.attachments.publish(volume, "node-0", capability, False, {}, {})
node.stage(StageRequest(volume_id=volume, path=base + "/s", capability=capability))
target, staging = base + "/t", base + "/s"
node.publish(
    PublishRequest(volume_id=volume, target=target, staging=staging, capability=capability)
)
content = base + ("/t" if access == "block" else "/t/file")
with open(content, "r+" if access == "block" else "w") as file:
    file.write("kept")
node.unpublish(volume, base + "/t")
node.unstage(volume, base + "/s")
state.attachments.unpublish(volume, "node-0", {})
state.volumes.delete(volume, {})
"""
KILLED = 137
POINTS = [
    (f"{kind}.{moment}", turn)
    for kind in ("volume", "attachment", "staging", "publication")
    for moment in ("before", "after")
    for turn in (1, 2)  # when it comes and when it goes
]
MODES: list[tuple[Mode, Access]] = [("directory", "mount"), ("loop", "mount"), ("bind", "block")]

Killed = Callable[..., None]


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Killed]:
    """Runs LIFE below tmp_path until the crash; nothing of it is mounted when the test ends."""
    (tmp_path / "s").mkdir()

    def run(mode: Mode, access: Access, point: str, turn: int) -> None:
        try:
            open_storage(mode, str(tmp_path / "trial")).close()
        except Refused as refused:
            pytest.skip(refused.message)
        process = subprocess.run(
            [sys.executable, "-c", LIFE, str(tmp_path), mode, access, point, str(turn)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.returncode == KILLED, process.stderr

    yield run
    storage = open_storage("auto", str(tmp_path / "state" / "storage"))
    storage.adopt([], ())
    storage.close()
    remains = [mount.point for mount in mounts.table() if mount.point.startswith(f"{tmp_path}/")]
    devices = {d: file for d, file in loops.attached().items() if not loops.autoclears(d)}
    remains += [file for file in devices.values() if file.startswith(f"{tmp_path}/")]
    reboot(tmp_path)  # a test that failed must not harm the next
    assert remains == []


@attrs.frozen
class Life:
    """A driver without a wire."""

    state: DriverState
    storage: OpenStorage


@contextmanager
def living(base: Path, mode: Mode) -> Iterator[Life]:
    """The next life over the same directory; it ends orderly and keeps what is in use."""
    log = StateLog(base / "state")
    storage = open_storage(mode, str(base / "state" / "storage"))
    state = DriverState(
        DriverSettings(),
        clock=time.time,
        ids=numbered(),
        storage=storage,
        on_change=log.append,
    )
    restore(state.tables, log, storage)
    yield Life(state, storage)
    storage.close(keep=True)
    log.close()


def flow(driver: Life | FakeDriver, access: Access, base: Path) -> str:
    """What a caller repeats from the start after a crash: create, attach, stage, publish."""
    state, node = driver.state, NodeState(driver.state.tables, "node-0")
    capability = VolumeCapability(access, AccessMode.MULTI_NODE_MULTI_WRITER)
    volume = state.volumes.create(NewVolume("v", (capability,))).id
    state.attachments.publish(volume, "node-0", capability, False, {}, {})
    staging, target = str(base / "s"), str(base / "t")
    node.stage(StageRequest(volume_id=volume, path=staging, capability=capability))
    node.publish(
        PublishRequest(volume_id=volume, target=target, staging=staging, capability=capability)
    )
    return volume


def undo(driver: Life | FakeDriver, volume: str, base: Path) -> None:
    """The same backwards."""
    state, node = driver.state, NodeState(driver.state.tables, "node-0")
    node.unpublish(volume, str(base / "t"))
    node.unstage(volume, str(base / "s"))
    state.attachments.unpublish(volume, "node-0", {})
    state.volumes.delete(volume, {})


def written(base: Path, access: Access) -> Path:
    """Where the workload writes."""
    return base / "t" if access == "block" else base / "t" / "file"


def reboot(base: Path) -> None:
    """No mount and no device outlives it."""
    for mount in reversed(mounts.table()):
        if mount.point.startswith(f"{base}/"):
            mounts.unmount(mount.point)
    for device, file in loops.attached().items():
        if file.startswith(f"{base}/") and not loops.autoclears(device):
            loops.detach(device)


def read(base: Path, access: Access) -> str:
    """The start of it."""
    with written(base, access).open() as file:
        return file.read(4)


@pytest.mark.parametrize(("point", "turn"), POINTS)
@pytest.mark.parametrize(("mode", "access"), MODES)
def test_a_driver_killed_in_the_middle_goes_on_where_it_was(
    mode: Mode, access: Access, point: str, turn: int, killed: Killed, tmp_path: Path
) -> None:
    """The caller repeats everything from the start, and everything can be undone."""
    killed(mode, access, point, turn)
    with living(tmp_path, mode) as driver:
        assert len(driver.state.tables.volumes) <= 1
        for _ in range(2):
            volume = flow(driver, access, tmp_path)
        layers = [mount.point for mount in mounts.table()].count(str(tmp_path / "t"))
        assert layers == int("mounts" in driver.storage.capabilities)
        undo(driver, volume, tmp_path)
        assert os.listdir(tmp_path / "state" / "storage" / "homes") == []
    assert sorted(os.listdir(tmp_path)) == ["s", "state", "trial"]
    assert os.listdir(tmp_path / "s") == []


@pytest.mark.parametrize(("mode", "access"), MODES)
def test_a_caller_may_give_up_instead_of_going_on(
    mode: Mode, access: Access, killed: Killed, tmp_path: Path
) -> None:
    """Killed between mounting and writing it down: undoing what has no record."""
    killed(mode, access, "publication.before", 1)
    with living(tmp_path, mode) as driver:
        (volume,) = driver.state.tables.volumes
        undo(driver, volume, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["s", "state", "trial"]


@pytest.mark.parametrize(("mode", "access"), MODES)
def test_a_workload_outlives_its_driver(
    mode: Mode, access: Access, killed: Killed, tmp_path: Path
) -> None:
    """It goes on writing while no driver runs, and after the next one took over."""
    killed(mode, access, "publication.after", 1)
    with written(tmp_path, access).open("r+" if access == "block" else "w") as file:
        file.write("kept")
        file.flush()
        with living(tmp_path, mode) as driver:
            assert read(tmp_path, access) == "kept"
            file.write("!")
            file.close()
            undo(driver, flow(driver, access, tmp_path), tmp_path)


@pytest.mark.parametrize(("mode", "access"), MODES)
def test_after_a_reboot_the_caller_starts_again_from_staging(
    mode: Mode, access: Access, killed: Killed, tmp_path: Path
) -> None:
    """Records are there and mounts are not; the data comes back with the repetition."""
    killed(mode, access, "publication.before", 2)
    reboot(tmp_path)
    with living(tmp_path, mode) as driver:
        volume = flow(driver, access, tmp_path)
        assert read(tmp_path, access) == "kept"
        undo(driver, volume, tmp_path)


@pytest.mark.parametrize(("mode", "access"), MODES)
def test_a_stopped_driver_keeps_what_it_published(
    mode: Mode, access: Access, killed: Killed, tmp_path: Path
) -> None:
    """A new version takes over under the same ids and can undo what the old one did."""
    killed(mode, access, "volume.before", 1)
    with FakeDriver(state_dir=tmp_path / "state", storage=mode) as driver:
        before = flow(driver, access, tmp_path)
    assert (tmp_path / "t").exists()
    with FakeDriver(state_dir=tmp_path / "state", storage=mode) as driver:
        assert flow(driver, access, tmp_path) == before
        undo(driver, before, tmp_path)


@pytest.mark.parametrize("mode", ["directory", "bind", "loop"])
def test_a_driver_starts_over_its_log_on_a_full_disk(
    mode: Mode, small_disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the mode that its volumes were made in, though none can be tried there now; what it
    cannot write down it refuses, and it goes on when there is room."""
    monkeypatch.setattr("tempfile.tempdir", str(small_disk.folder))
    state = small_disk.folder / "state"
    endpoint = small_disk.folder / "c.sock"
    capability = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER)
    try:
        with FakeDriver(endpoint, state_dir=state, storage=mode) as driver:
            volume = driver.state.volumes.create(NewVolume("v", (capability,))).id
            capabilities = driver.storage.capabilities
    except Refused as refused:
        pytest.skip(refused.message)
    with (state / "state.jsonl").open("ab") as log:
        log.write(b'["volume","torn",{')
    small_disk.fill()
    with FakeDriver(endpoint, state_dir=state) as driver:
        assert list(driver.state.tables.volumes) == [volume]
        assert driver.storage.capabilities == capabilities
        made, caught = [volume], None
        while caught is None:  # the last page has room for some lines
            try:
                new = NewVolume(f"v{len(made)}", (capability,))
                made.append(driver.state.volumes.create(new).id)
            except Refused as refused:
                caught = refused
        assert caught.code == Code.RESOURCE_EXHAUSTED
        small_disk.free()
        made.append(driver.state.volumes.create(NewVolume("w", (capability,))).id)
    with FakeDriver(endpoint, state_dir=state) as driver:
        assert list(driver.state.tables.volumes) == made
