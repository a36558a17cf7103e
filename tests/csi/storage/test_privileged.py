"""refimpl.csi.storage.privileged: what the machine allows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.csi.storage import filesystems, loops, mounts, privileged
from refimpl.wire.status import Code, Refused


@pytest.fixture(autouse=True)
def _tried_anew() -> Iterator[None]:
    """What one test forbids is no trial for the next."""
    privileged._tried.cache_clear()
    yield
    privileged._tried.cache_clear()


def forbidden(*_: object, **__: object) -> None:
    """A machine that allows nothing."""
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize("mode", ["bind", "loop"])
def test_without_the_right_to_mount_the_mode_is_refused(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do instead."""
    monkeypatch.setattr(mounts, "bind", forbidden)
    with pytest.raises(Refused, match="storage mode directory") as caught:
        privileged.opened(mode, str(tmp_path / "root"))
    assert caught.value.code == Code.FAILED_PRECONDITION


def test_without_loop_devices_binds_still_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a user namespace."""
    if not privileged.can_bind(str(tmp_path)):
        pytest.skip("this process may not mount")
    monkeypatch.setattr(loops, "attach", forbidden)
    assert "devices" not in privileged.opened("bind", str(tmp_path / "a")).capabilities
    with pytest.raises(Refused, match="storage mode bind"):
        privileged.opened("loop", str(tmp_path / "b"))


def test_without_mkfs_there_are_no_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else is there."""
    monkeypatch.setattr(filesystems, "available", frozenset)
    assert not privileged.can_loop(str(tmp_path))


def test_a_machine_that_attaches_but_does_not_mount_has_no_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a user namespace of root."""
    monkeypatch.setattr(mounts, "mount", forbidden)
    assert not privileged.can_loop(str(tmp_path))


@pytest.mark.parametrize("missing", ["attach", "grow", "detach"])
def test_a_device_is_of_use_only_with_all_three_rights(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the trial does not leave the one that it could attach."""
    monkeypatch.setattr(loops, missing, forbidden)
    assert not privileged.can_attach(str(tmp_path))
    devices = {d: file for d, file in loops.attached().items() if not loops.autoclears(d)}
    assert not [file for file in devices.values() if file.startswith(str(tmp_path))]


def test_the_root_of_a_namespace_is_not_root() -> None:
    """Unless the namespace has all ids."""
    if os.geteuid():
        assert not privileged.is_root()
    else:
        with open("/proc/self/gid_map", encoding="ascii") as file:
            assert privileged.is_root() == ("4294967295" in file.read())


def test_a_trial_leaves_nothing(tmp_path: Path) -> None:
    """Neither mount nor device."""
    privileged.can_bind(str(tmp_path))
    privileged.can_loop(str(tmp_path))
    assert str(tmp_path) not in {mount.point for mount in mounts.table()}
    assert not [file for file in loops.attached().values() if file.startswith(str(tmp_path))]


def test_growth_is_told_by_the_right_it_takes() -> None:
    """CAP_SYS_RESOURCE among the effective ones."""
    with open("/proc/self/status", encoding="ascii") as file:
        mask = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff"))
    assert privileged.can_grow() == bool(mask & 1 << 24)
