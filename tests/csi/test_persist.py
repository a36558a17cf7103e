"""refimpl.csi.persist: what is remembered, and what happens when remembering fails."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refimpl.csi import persist
from refimpl.csi.persist import StateError, StateLog, restore
from refimpl.csi.state import DriverState
from refimpl.csi.state.models import (
    AccessMode,
    CapacityRange,
    ContentSource,
    Volume,
    VolumeCapability,
)
from refimpl.csi.state.node import NodeState, PublishRequest, StageRequest
from refimpl.csi.state.ports import numbered
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes.requests import NewVolume
from refimpl.csi.storage.memory import MemoryStorage
from refimpl.wire.status import Code, Refused

SHARED = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER, "ext4", ("noatime",), "42")
Opened = Callable[..., StateLog]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens the log of tmp_path/state; all are closed at the end."""
    logs: list[StateLog] = []

    def log(**how: bool) -> StateLog:
        logs.append(StateLog(tmp_path / "state", **how))
        return logs[-1]

    yield log
    for item in logs:
        item.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the log lies."""
    return tmp_path / "state" / "state.jsonl"


def volume(key: str, size: int = 1) -> Volume:
    """A volume without a history."""
    return Volume(key, f"name of {key}", size, "mount", (AccessMode.SINGLE_NODE_WRITER,))


def lived(log: StateLog, ids: Any = None) -> DriverState:
    """A driver in whose short life every kind of record came, and some went."""
    storage = MemoryStorage()
    state = DriverState(
        DriverSettings(snapshot_delay=5.0),
        clock=lambda: 100.0,
        ids=ids or numbered(),
        storage=storage,
        on_change=log.append,
    )
    first = state.volumes.create(NewVolume("one", (SHARED,), CapacityRange(1 << 20)))
    dropped = state.volumes.create(NewVolume("gone", (SHARED,)))
    state.volumes.delete(dropped.id, {})
    state.volumes.create(NewVolume("copy", (SHARED,), source=ContentSource("volume", first.id)))
    state.attachments.publish(first.id, "node-0", SHARED, False, {}, {})
    node = NodeState(state.tables, "node-0")
    node.stage(StageRequest(volume_id=first.id, path="/s", capability=SHARED))
    for target in ("/t1", "/t2"):
        node.publish(
            PublishRequest(volume_id=first.id, target=target, staging="/s", capability=SHARED)
        )
    node.unpublish(first.id, "/t2")
    state.changes.expand(first.id, CapacityRange(2 << 20), None, {})
    state.changes.modify(first.id, {"tier": "gold"}, {})
    state.snapshots.create(first.id, "snap", {}, None, {})
    state.groups.create("group", (first.id,), {}, {})
    state.health.break_volume(first.id, "DEGRADED", "Slow", "slow")
    state.health.break_storage("STORAGE_UNREACHABLE", "Gone", node_id="node-1", capability=SHARED)
    return state


def content(state: DriverState) -> dict[str, object]:
    """Everything the tables hold, indexes included."""
    tables = state.tables
    return {
        "volumes": list(tables.volumes.items()),
        "names": tables.volume_names,
        "attachments": tables.attachments,
        "attached": +tables.attached,
        "snapshots": list(tables.snapshots.items()),
        "groups": tables.groups,
        "copies": tables.copies,
        "stagings": tables.stagings,
        "publications": tables.publications,
        "uses": tables.uses,
        "health": tables.health,
        "storage": tables.storage_faults,
        "charged": +tables.charged,
    }


def restored(log: StateLog, storage: MemoryStorage | None = None) -> DriverState:
    """A new driver over a log."""
    storage = storage or MemoryStorage()
    state = DriverState(
        DriverSettings(snapshot_delay=5.0), clock=lambda: 100.0, ids=numbered(), storage=storage
    )
    restore(state.tables, log, storage)
    return state


def test_everything_is_there_after_a_restart(opened: Opened) -> None:
    """Records, their order, and every index made of them."""
    log = opened()
    before = content(lived(log))
    log.close()
    assert content(restored(opened())) == before


def test_everything_is_there_after_many_restarts(opened: Opened) -> None:
    """Rewriting the file at each start changes nothing in it."""
    log = opened()
    before = content(lived(log))
    for _ in range(3):
        log.close()
        log = opened()
        assert content(restored(log)) == before


def test_the_storage_takes_over_the_places(opened: Opened) -> None:
    """What is staged and published, and nothing else."""
    log = opened()
    lived(log)
    log.close()
    storage = MemoryStorage()
    state = restored(opened(), storage)
    (first,) = [item.id for item in state.tables.volumes.values() if item.name == "one"]
    assert [storage.holds(first, path) for path in ("/s", "/t1", "/t2")] == [True, True, False]


def test_what_is_gone_leaves_the_file_with_the_next_start(opened: Opened, file: Path) -> None:
    """So that the file is as large as the content, not as the history."""
    log = opened()
    for number in range(100):
        log.append("volume", f"v{number}", volume(f"v{number}"))
        log.append("volume", f"v{number}", None)
    log.append("volume", "kept", volume("kept"))
    log.close()
    opened()
    assert len(file.read_bytes().splitlines()) == 2


def test_a_changed_record_keeps_its_place(opened: Opened) -> None:
    """Lists walk in order of arrival, also after a restart."""
    log = opened()
    for key in ("a", "b", "c"):
        log.append("volume", key, volume(key))
    log.append("volume", "a", volume("a", 2))
    log.append("volume", "b", None)
    log.append("volume", "b", volume("b", 3))
    log.close()
    sizes = [(item.id, item.capacity) for item in opened().records() if isinstance(item, Volume)]
    assert sizes == [("a", 2), ("c", 1), ("b", 3)]


@pytest.mark.parametrize("torn", range(1, 40))
def test_a_torn_last_line_is_forgotten(torn: int, opened: Opened, file: Path) -> None:
    """A process killed while it wrote had not answered the call."""
    log = opened()
    log.append("volume", "a", volume("a"))
    data = file.read_bytes()
    log.append("volume", "b", volume("b"))
    log.close()
    file.write_bytes(file.read_bytes()[: len(data) + torn])
    log = opened()
    assert list(log.records()) == [volume("a")]
    log.append("volume", "c", volume("c"))
    log.close()
    assert list(opened().records()) == [volume("a"), volume("c")]


def test_a_last_line_without_an_end_is_forgotten_whatever_it_holds(
    opened: Opened, file: Path
) -> None:
    """A power failure may leave zeros."""
    log = opened()
    log.append("volume", "a", volume("a"))
    log.close()
    with file.open("ab") as raw:
        raw.write(b"\0" * 512)
    assert list(opened().records()) == [volume("a")]


RUBBISH = [b"rubbish", b"", b"\0" * 512, b'["volume"]', b'["volume","x",{"id":7}]', b"\xff"]


@pytest.mark.parametrize("number", [2, 3], ids=["in the middle", "the last"])
@pytest.mark.parametrize("line", [*RUBBISH, b'["strange","x",{}]', b'["strange","x",null]'])
def test_a_complete_line_that_cannot_be_read_is_named_and_nothing_is_touched(
    line: bytes, number: int, opened: Opened, file: Path
) -> None:
    """Half a memory is worse than none: what nobody remembers is deleted."""
    log = opened()
    log.append("volume", "a", volume("a"))
    log.close()
    lines = file.read_bytes().splitlines(keepends=True)
    lines.insert(number - 1, line + b"\n")
    file.write_bytes(b"".join(lines))
    before = file.read_bytes()
    with pytest.raises(StateError, match=rf"line {number} of .*state\.jsonl.*nothing was touched"):
        opened()
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == ["state.jsonl"]


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b'["format","refi', b"rubbish\n"])
def test_a_log_without_its_first_line_is_no_empty_one(
    content: bytes, opened: Opened, file: Path
) -> None:
    """That line is there before the file has its name, so its want is damage."""
    opened().close()
    file.write_bytes(content)
    with pytest.raises(StateError, match="line 1 of"):
        opened()
    assert file.read_bytes() == content


def test_volumes_without_a_log_are_left_alone(opened: Opened, file: Path) -> None:
    """Somebody removed the log, or restored half of a backup."""
    opened().close()
    file.unlink()
    (file.parent / "storage").mkdir()
    with pytest.raises(StateError, match=r"No such file.*nothing was touched"):
        opened()
    assert os.listdir(file.parent) == ["storage"]


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_what_is_no_file_is_not_opened(
    kind: str, opened: Opened, file: Path, tmp_path: Path
) -> None:
    """A FIFO would have us wait for ever, a link lead somewhere else."""
    file.parent.mkdir()
    target = tmp_path / "elsewhere"
    target.touch()
    make: dict[str, Callable[[], object]] = {
        "link": lambda: file.symlink_to(target),
        "fifo": lambda: os.mkfifo(file),
        "directory": file.mkdir,
    }
    make[kind]()
    with pytest.raises(StateError, match="cannot be read"):
        opened()
    assert target.read_bytes() == b""


def test_a_file_of_another_kind_is_left_alone(opened: Opened, file: Path) -> None:
    """The first line tells whose it is."""
    file.parent.mkdir()
    file.write_text('{"some": "other"}\n{"program": 1}\n')
    with pytest.raises(StateError, match="line 1"):
        opened()
    assert file.read_text().startswith('{"some"')


def test_a_directory_serves_one_process_at_a_time(opened: Opened) -> None:
    """Two writers would lose each other's volumes."""
    log = opened()
    with pytest.raises(StateError, match="in use by another driver"):
        opened()
    log.close()
    opened()


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """Before anything is served."""
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="file/state"):
        StateLog(tmp_path / "file" / "state")


class Disk:
    """Limits how large a file of this process may grow: the kernel refuses like a full disk."""

    def __init__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._signal = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def full_at(self, size: int) -> None:
        """No file grows beyond `size` bytes."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, self._before[1]))

    def free(self) -> None:
        """As it was."""
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)

    def restore(self) -> None:
        """Undo everything."""
        self.free()
        signal.signal(signal.SIGXFSZ, self._signal)


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A disk that can be full."""
    disk = Disk()
    yield disk
    disk.restore()


@pytest.mark.parametrize("room", [0, 1, 10, 100])
def test_a_full_disk_refuses_the_call_and_harms_nothing(
    room: int, opened: Opened, file: Path, disk: Disk
) -> None:
    """Not even half a line stays, so that the next one can be read."""
    log = opened()
    log.append("volume", "a", volume("a"))
    before = file.read_bytes()
    disk.full_at(len(before) + room)
    with pytest.raises(Refused) as caught:
        log.append("volume", "b", volume("b"))
    assert caught.value.code == Code.RESOURCE_EXHAUSTED
    assert file.read_bytes() == before
    disk.free()
    log.append("volume", "c", volume("c"))
    log.close()
    assert list(opened().records()) == [volume("a"), volume("c")]


def test_a_call_that_could_not_be_written_down_did_not_happen(
    opened: Opened, file: Path, disk: Disk
) -> None:
    """For every kind of call: refused, everything as before, and repeated with success."""
    log = opened()
    state = lived(log)
    (first,) = [item.id for item in state.tables.volumes.values() if item.name == "one"]
    node = NodeState(state.tables, "node-0")
    request = PublishRequest(volume_id=first, target="/t9", staging="/s", capability=SHARED)
    calls: list[Callable[[], object]] = [
        lambda: state.volumes.create(NewVolume("new", (SHARED,))),
        lambda: state.volumes.create(
            NewVolume("clone", (SHARED,), source=ContentSource("volume", first))
        ),
        lambda: state.changes.expand(first, CapacityRange(3 << 20), None, {}),
        lambda: state.changes.modify(first, {"tier": "silver"}, {}),
        lambda: state.snapshots.create(first, "new", {}, None, {}),
        lambda: state.groups.create("new", (first,), {}, {}),
        lambda: node.publish(request),
        lambda: node.unpublish(first, "/t1"),
        lambda: state.health.break_volume(first, "DATA_LOSS", "Lost"),
        lambda: state.health.repair_storage(),
    ]
    for call in calls:
        before = content(state)
        disk.full_at(file.stat().st_size)
        with pytest.raises(Refused) as caught:
            call()
        assert caught.value.code == Code.RESOURCE_EXHAUSTED
        disk.free()
        assert content(state) == before
        call()
    log.close()
    assert content(restored(opened())) == content(state)


def test_history_is_dropped_while_running(
    opened: Opened, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that lives long must not fill the disk with what is gone."""
    monkeypatch.setattr(persist, "_SLACK", 10)
    log = opened()
    log.append("volume", "kept", volume("kept"))
    for _ in range(100):
        log.append("volume", "v", volume("v"))
        log.append("volume", "v", None)
        assert len(file.read_bytes().splitlines()) < 20
    log.close()
    assert list(opened().records()) == [volume("kept")]


def test_history_stays_while_there_is_no_room_to_rewrite_it(
    opened: Opened, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The long file still serves, and calls go on."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(persist, "_SLACK", 10)
    log = opened()
    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", full)
        for number in range(50):
            log.append("volume", "v", volume("v", number))
    assert os.listdir(file.parent) == ["state.jsonl"]
    log.append("volume", "w", volume("w"))
    log.close()
    assert list(opened().records()) == [volume("v", 49), volume("w")]


def test_a_disk_that_is_full_at_the_start_is_told(
    opened: Opened, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the directory is free for another try."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", full)
        with pytest.raises(StateError, match="No space left"):
            opened()
    opened().append("volume", "a", volume("a"))
    assert os.listdir(file.parent) == ["state.jsonl"]


def test_synchronous_lines_are_the_same_lines(opened: Opened) -> None:
    """Only slower."""
    log = opened(sync=True)
    log.append("volume", "a", volume("a"))
    log.close()
    assert list(opened().records()) == [volume("a")]


def test_the_file_is_private(opened: Opened, file: Path) -> None:
    """Contexts of volumes are nobody else's business."""
    opened().append("volume", "a", volume("a"))
    assert file.stat().st_mode & 0o077 == 0
    assert os.listdir(file.parent) == ["state.jsonl"]


keys = st.sampled_from(["a", "b", "c", '\u00fc/\n"', "x" * 128])
steps = st.lists(st.tuples(keys, st.none() | st.integers(1, 9)), max_size=20)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(runs=st.lists(steps, max_size=4))
def test_any_history_ends_in_what_a_dictionary_holds(
    runs: list[list[tuple[str, int | None]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Several lives, each with changes and deletions."""
    directory = tmp_path_factory.mktemp("state")
    model: dict[str, Volume] = {}
    for run in runs:
        log = StateLog(directory)
        for key, size in run:
            if size is None:
                model.pop(key, None)
            else:
                model[key] = volume(key, size)
            log.append("volume", key, model.get(key))
        log.close()
    log = StateLog(directory)
    assert list(log.records()) == list(model.values())
    log.close()
