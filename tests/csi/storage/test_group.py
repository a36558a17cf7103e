"""refimpl.csi.storage.group: the group of a volume."""

from __future__ import annotations

import errno
import grp
import os
from pathlib import Path

import pytest

from refimpl.csi.storage import group
from refimpl.csi.storage.privileged import is_root
from refimpl.wire.status import Code, Refused


@pytest.mark.parametrize("by", ["number", "name"])
def test_what_is_made_below_is_open_to_the_group(by: str, tmp_path: Path) -> None:
    """Whatever the umask of the maker says."""
    gid = os.getgid()
    group.give(str(tmp_path), str(gid) if by == "number" else grp.getgrgid(gid).gr_name)
    before = os.umask(0o077)
    try:
        (tmp_path / "directory").mkdir()
        (tmp_path / "directory" / "file").touch()
    finally:
        os.umask(before)
    assert tmp_path.stat().st_mode & 0o2070 == 0o2070
    status = (tmp_path / "directory" / "file").stat()
    assert status.st_gid == gid
    if "system.posix_acl_default" in os.listxattr(tmp_path):
        assert status.st_mode & 0o060 == 0o060


@pytest.mark.skipif(not is_root(), reason="only root may give to a foreign group")
def test_a_foreign_group_gets_the_volume(tmp_path: Path) -> None:
    """It need not have a name on this machine."""
    group.give(str(tmp_path), "54321")
    assert tmp_path.stat().st_gid == 54321


@pytest.mark.parametrize("number", [errno.EPERM, errno.EINVAL])
def test_without_the_right_to_give_only_permissions_are_set(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mode of storage without root says that it cannot do this."""

    def forbidden(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "chown", forbidden)
    group.give(str(tmp_path), "54321")
    assert tmp_path.stat().st_mode & 0o2070 == 0o2070


@pytest.mark.parametrize("group_name", ["no such group", "4294967295", "-1", "1.5", "\u0664"])
def test_an_unknown_group_is_an_invalid_argument(group_name: str, tmp_path: Path) -> None:
    """And changes nothing."""
    before = tmp_path.stat().st_mode
    with pytest.raises(Refused) as caught:
        group.give(str(tmp_path), group_name)
    assert caught.value.code == Code.INVALID_ARGUMENT
    assert tmp_path.stat().st_mode == before
